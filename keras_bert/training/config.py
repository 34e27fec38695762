"""How a model is trained, whatever it is."""

from __future__ import annotations

import dataclasses
import json

from keras_bert.settings import check_settings, setting


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """What every training run sets; saved beside each of its checkpoints.

    Attributes:
        optimizer: adam_weight_decay (the reference's, without bias
            correction), lamb (for batches of thousands) or adamw (Keras').
        learning_rate: The peak, reached at the end of the warm-up.
        decay_power: Then the rate falls to 0 as (1 - share of the steps) to
            this power; 0.5 in NVIDIA's recipe of LAMB.
        train_batch_size: Examples of one step, over all devices and workers.
        eval_batch_size: Examples evaluated at a time.
        weight_decay_rate: Decay of all weights but biases and layer norms.
        clip_norm: The gradients' global norm is cut to this.
        save_checkpoints_steps: After so many steps, and at the end, held-out
            data is evaluated, logs are written and a checkpoint is saved.
        keep_checkpoint_max: So many of the last checkpoints are kept.
        random_seed: Of initial weights, dropout and the order of the data.
        distribution_strategy: one_device, mirrored (all GPUs of this
            machine), multi_worker_mirrored (TF_CONFIG names the workers) or
            tpu.
        tpu: Name or address of the TPU, or "local".
        precision: float32, or bfloat16 or float16 for the computation, with
            weights in float32.
        gradient_accumulation_steps: Each device goes through its part of a
            batch in so many pieces, which takes less memory.
        steps_per_execution: So many steps are taken without returning to
            Python.
        jit_compile: Compile with XLA: on, off, or auto, which is off on a CPU
            and where the shapes change.
    """

    optimizer: str = setting(
        "adam_weight_decay",
        choices=("adam_weight_decay", "lamb", "adamw"),
    )
    learning_rate: float = 1e-4
    decay_power: float = 1.0
    train_batch_size: int = 32
    eval_batch_size: int = 64
    weight_decay_rate: float = setting(0.01, minimum=0)
    clip_norm: float = 1.0
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 3
    random_seed: int = setting(12345, minimum=0)
    distribution_strategy: str = setting(
        "one_device",
        choices=("one_device", "mirrored", "multi_worker_mirrored", "tpu"),
    )
    tpu: str = ""
    precision: str = setting(
        "float32", choices=("float32", "bfloat16", "float16")
    )
    gradient_accumulation_steps: int = 1
    steps_per_execution: int = 1
    jit_compile: str = setting("auto", choices=("auto", "on", "off"))

    def __post_init__(self):
        check_settings(self)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

"""The settings of every training run."""

import dataclasses
import json
from typing import Any, ClassVar

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting


@dataclasses.dataclass(frozen=True)
class DeviceConfig(CheckedSettings):
    """The devices of a run, and how they compute.

    Attributes:
        distribution_strategy: The devices: one_device, mirrored (all GPUs of
            this machine), multi_worker_mirrored (TF_CONFIG names the workers)
            or tpu.
        tpu: The name or address of the TPU, or "local".
        worker_timeout_seconds: The number of seconds that a worker waits for
            the other workers at the start, before SIGALRM ends the worker.
        precision: The data type of the computation: float32, bfloat16 or
            float16. The weights are in float32.
        gradient_accumulation_steps: The number of micro-batches into which each
            device splits its part of a batch, to need less memory.
        steps_per_execution: The number of steps that run before TensorFlow
            returns to Python.
        jit_compile: Whether to compile with XLA: on, off or auto. With auto,
            XLA is off on a CPU, and for batches that differ in shape.
    """

    distribution_strategy: str = setting(
        "one_device",
        choices=("one_device", "mirrored", "multi_worker_mirrored", "tpu"),
    )
    tpu: str = ""
    worker_timeout_seconds: int = 600
    precision: str = setting(
        "float32", choices=("float32", "bfloat16", "float16")
    )
    gradient_accumulation_steps: int = 1
    steps_per_execution: int = 1
    jit_compile: str = setting("auto", choices=("auto", "on", "off"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tpu and self.distribution_strategy != "tpu":
            raise InputError(
                f"tpu is {self.tpu!r}, but the distribution_strategy is "
                f"{self.distribution_strategy}; give the distribution_strategy "
                "tpu, or leave out the setting tpu."
            )


@dataclasses.dataclass(frozen=True)
class TrainConfig(DeviceConfig):
    """The settings of every training run; saved beside each checkpoint.

    Attributes:
        optimizer: The optimizer: adam_weight_decay (from google-research/bert,
            without bias correction), lamb (for batches of thousands) or adamw
            (from Keras).
        learning_rate: The peak of the learning rate, reached at the end of the
            warm-up.
        decay_power: The exponent of the decay. After the warm-up, the rate is
            learning_rate * (1 - share) ** decay_power, where "share" is the
            share of the run's steps that are done. NVIDIA's recipe for LAMB
            uses 0.5.
        stable_proportion: The share of the run's steps that come before the
            decay begins. From the warm-up until then, the rate stays at its
            peak (warm-up-stable-decay, arXiv 2404.06395). In the formula of
            decay_power, "share" is then the share of the decay's steps that are
            done.
        max_train_time: The number of minutes after which no further step
            begins; only the last evaluation follows. The learning rate falls to
            0 by then. The time of earlier evaluations and of interrupted
            processes counts too. Two runs with the same limit differ, because
            the number of steps depends on the speed of the machine.
        train_batch_size: The number of examples per step, over all devices and
            workers.
        eval_batch_size: The number of examples per batch of the evaluation.
        weight_decay_rate: The decay of all weights except biases and layer
            norms.
        clip_norm: The largest global norm of the gradients; larger gradients
            are scaled down to this norm.
        save_checkpoints_steps: The number of steps between two checkpoints. At
            each checkpoint, and at the end, the model is also evaluated and the
            history is written.
        keep_checkpoint_max: The number of newest checkpoints to keep.
        random_seed: The seed of the initial weights, the dropout and the order
            of the data.
    """

    optimizer: str = setting(
        "adam_weight_decay", choices=("adam_weight_decay", "lamb", "adamw")
    )
    learning_rate: float = 1e-4
    decay_power: float = 1.0
    stable_proportion: float = setting(0.0, minimum=0, below=1)
    max_train_time: float | None = None
    train_batch_size: int = 32
    eval_batch_size: int = 64
    weight_decay_rate: float = setting(0.01, minimum=0)
    clip_norm: float = 1.0
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 3
    random_seed: int = setting(12345, minimum=0)

    # A resumed run may change these settings: they decide how the run computes,
    # not what it computes.
    changeable: ClassVar[frozenset[str]] = frozenset(
        {field.name for field in dataclasses.fields(DeviceConfig)}
        - {"precision"}
        | {"eval_batch_size", "save_checkpoints_steps", "keep_checkpoint_max"}
    )

    def fixed_settings(self) -> dict[str, Any]:
        """Returns the settings that must not change when a run is resumed."""
        return {
            name: value
            for name, value in dataclasses.asdict(self).items()
            if name not in self.changeable
        }

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

"""How a model is trained, whatever it is."""

from __future__ import annotations

import dataclasses
import json

_MAY_BE_0 = {
    "num_warmup_steps",
    "random_seed",
    "warmup_proportion",
    "weight_decay_rate",
}
_CHOICES = {"optimizer": ("adam_weight_decay", "lamb", "adamw")}


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """What every training run sets; saved beside each of its checkpoints.

    Attributes:
        optimizer: adam_weight_decay (the reference's, without bias
            correction), lamb (for batches of thousands) or adamw (Keras').
        learning_rate: The peak, reached at the end of the warm-up.
        train_batch_size: Examples of one step.
        eval_batch_size: Examples evaluated at a time.
        weight_decay_rate: Decay of all weights but biases and layer norms.
        clip_norm: The gradients' global norm is cut to this.
        save_checkpoints_steps: After so many steps, and at the end, held-out
            data is evaluated, logs are written and a checkpoint is saved.
        keep_checkpoint_max: So many of the last checkpoints are kept.
        random_seed: Of initial weights, dropout and the order of the data.
    """

    optimizer: str = "adam_weight_decay"
    learning_rate: float = 1e-4
    train_batch_size: int = 32
    eval_batch_size: int = 64
    weight_decay_rate: float = 0.01
    clip_norm: float = 1.0
    save_checkpoints_steps: int = 1000
    keep_checkpoint_max: int = 3
    random_seed: int = 12345

    def __post_init__(self):
        for name, value in dataclasses.asdict(self).items():
            if name in _CHOICES and value not in _CHOICES[name]:
                raise ValueError(
                    f"{name} is {value!r}, but must be one of "
                    f"{', '.join(_CHOICES[name])}."
                )
            if isinstance(value, str):
                continue
            if value < 0 or (value == 0 and name not in _MAY_BE_0):
                raise ValueError(
                    f"{name} is {value}, but must be "
                    f"{'at least' if name in _MAY_BE_0 else 'above'} 0."
                )

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

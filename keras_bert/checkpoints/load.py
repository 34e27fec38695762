"""A path -> weights, config and vocabulary, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import keras
import safetensors
from safetensors import numpy as safetensors_numpy

from keras_bert.checkpoints.assign import assign_weights

_WEIGHTS = "model.safetensors"


def load_checkpoint(model: keras.Model, path: str | Path) -> None:
    """Loads weights into a model of any head.

    Args:
        model: The encoder, the pre-training model or a fine-tuned one.
        path: An output_dir of `pretrain` or `finetune` (its last checkpoint
            is taken), one of its checkpoints, or a `.safetensors` file.

    Raises:
        FileNotFoundError: Where there is no checkpoint.
        ValueError: Where a weight is missing, unused or of another shape;
            heads alone may be absent, and are then named in the log.
    """
    file = checkpoint_folder(path) / _WEIGHTS
    if Path(path).is_file():
        file = Path(path)
    try:
        arrays = safetensors_numpy.load_file(file)
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"{file} is not a whole safetensors file ({error}); copy or "
            "train it again."
        ) from error
    assign_weights(model, arrays, str(file))


def checkpoint_folder(path: str | Path) -> Path:
    """The folder with the weights, and what lies beside them."""
    path = Path(path)
    if path.is_file():
        return path.parent
    if (path / _WEIGHTS).is_file():
        return path
    latest = max((path / "checkpoints").glob("step-*"), default=None)
    if latest is None:
        raise FileNotFoundError(
            f"No checkpoint at {path}; expected a folder with {_WEIGHTS}, or "
            "the output_dir of run_pretraining.py or run_finetuning.py."
        )
    return latest

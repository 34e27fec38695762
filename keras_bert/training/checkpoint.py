"""Everything a run needs to go on: saved whole, the last few kept.

A checkpoint is a folder `step-00001000` with `model.safetensors` (the weights
under their paths), `training_state.safetensors` (optimizer and dropout
seeds) and what else the run wants beside its weights.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
from safetensors import numpy as safetensors

from keras_bert.atomic import atomic_path


def save_checkpoint(
    model: keras.Model,
    folder: Path,
    step: int,
    *,
    sidecars: Mapping[str, str],
    keep_max: int,
) -> None:
    """Saves a compiled model as `folder/step-...`; removes all but the last.

    `sidecars` are text files to put beside the weights, by name.
    """
    with atomic_path(folder / f"step-{step:08d}") as path:
        path.mkdir()
        safetensors.save_file(
            {weight.path: weight.numpy() for weight in model.weights},
            path / "model.safetensors",
        )
        safetensors.save_file(
            {name: np.asarray(v) for name, v in _state(model).items()},
            path / "training_state.safetensors",
        )
        for name, text in sidecars.items():
            (path / name).write_text(text, encoding="utf-8", newline="\n")
    for old in sorted(folder.glob("step-*"))[:-keep_max]:
        shutil.rmtree(old)


def restore_latest_checkpoint(model: keras.Model, folder: Path) -> int:
    """Restores a compiled model to its last checkpoint; returns its step.

    Without a checkpoint in the folder, returns 0 and changes nothing.
    """
    latest = max(folder.glob("step-*"), default=None)
    if latest is None:
        return 0
    _assign(
        {weight.path: weight for weight in model.weights},
        latest / "model.safetensors",
    )
    _assign(_state(model), latest / "training_state.safetensors")
    return int(latest.name.removeprefix("step-"))


def _state(model):
    model.optimizer.build(model.trainable_variables)
    seeds = [v for v in model.variables if v.name == "seed_generator_state"]
    # By number: Keras counts the names of these through the whole process.
    return {
        f"{kind}/{i:04d}": variable
        for kind, variables in (
            ("optimizer", model.optimizer.variables),
            ("dropout_seed", seeds),
        )
        for i, variable in enumerate(variables)
    }


def _assign(variables, file):
    arrays = safetensors.load_file(file)
    shapes = {name: tuple(v.shape) for name, v in variables.items()}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        raise ValueError(
            f"{file} was written by a run with another model or optimizer; "
            "give an output_dir of its own to this run."
        )
    for name, variable in variables.items():
        variable.assign(arrays[name])

"""What is checked before a run, so that it does not fail after hours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import atomic_path, remove
from keras_bert.training.config import TrainConfig


def check_divisions(
    config: TrainConfig,
    strategy: tf.distribute.Strategy,
    numbers_of_steps: Sequence[int],
) -> None:
    """Raises InputError if batches or steps cannot be divided evenly."""
    num_devices = strategy.num_replicas_in_sync
    num_parts = num_devices * config.gradient_accumulation_steps
    if config.train_batch_size % num_parts:
        raise InputError(
            f"train_batch_size {config.train_batch_size} cannot be split "
            f"evenly: there are {num_devices} devices and "
            f"{config.gradient_accumulation_steps} "
            "gradient_accumulation_steps; choose a multiple of "
            f"{num_parts}."
        )
    for number in numbers_of_steps:
        if number % config.steps_per_execution:
            raise InputError(
                f"steps_per_execution {config.steps_per_execution} does not "
                f"divide {number} steps; choose one that divides the steps of "
                "the run, the steps left and save_checkpoints_steps."
            )


def warn_of_a_short_run(num_train_steps: int, num_warmup_steps: int) -> None:
    if num_train_steps == 1 and num_warmup_steps <= 1:
        logging.warning(
            "The run has one step, and the learning rate of the last step is "
            "0, as in the reference: it trains nothing. Give it more steps."
        )
    if num_warmup_steps > num_train_steps:
        logging.warning(
            "The warm-up takes %d steps, but the run has %d: the learning rate "
            "will not reach its peak.",
            num_warmup_steps,
            num_train_steps,
        )


def make_writable(folder: Path) -> None:
    """Creates the folder of a run, or raises OSError."""
    for path in (folder, folder / "checkpoints", folder / "tensorboard"):
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(
                f"{path} is not a folder; give another output_dir."
            )
    if is_remote(folder):
        with atomic_path(folder / ".writable") as path:
            path.touch()
        remove(folder / ".writable")
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(
            f"{folder} cannot be written to; give another output_dir."
        )

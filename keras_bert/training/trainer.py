"""compile, fit, save, resume, log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import keras
import tensorflow as tf
from absl import logging

from keras_bert.training.checkpoint import (
    restore_latest_checkpoint,
    save_checkpoint,
)
from keras_bert.training.config import TrainConfig
from keras_bert.training.history import History
from keras_bert.training.optimizers import build_optimizer


def train(
    build_model: Callable[[], keras.Model],
    train_dataset: tf.data.Dataset,
    validation_dataset: tf.data.Dataset | None,
    *,
    loss: Mapping[str, keras.losses.Loss],
    weighted_metrics: Mapping[str, list[keras.metrics.Metric]],
    num_train_steps: int,
    num_warmup_steps: int,
    config: TrainConfig,
    output_dir: str | Path,
    sidecars: Mapping[str, str],
) -> tuple[keras.Model, dict[str, float]]:
    """Trains a model, or goes on where an earlier call was interrupted.

    Args:
        build_model: Returns the model with its initial weights.
        train_dataset: At least `num_train_steps` batches, always the same for
            one seed: a resumed run skips those that it has seen.
        validation_dataset: Held-out batches, gone through after every
            `config.save_checkpoints_steps` steps and at the end; or None.
        loss: By the name of the model's output.
        weighted_metrics: Likewise.
        num_train_steps: Steps of the whole run.
        num_warmup_steps: Steps until the learning rate is at its peak.
        config: The rest.
        output_dir: Gets `checkpoints/`, `history.csv`, `curves.png` and
            `tensorboard/`.
        sidecars: Text files to save beside the weights of each checkpoint.

    Returns:
        The trained model, and the last row of `history.csv`.
    """
    output_dir = Path(output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    keras.utils.set_random_seed(config.random_seed)
    model = build_model()
    model.compile(
        optimizer=build_optimizer(config, num_train_steps, num_warmup_steps),
        loss=dict(loss),
        weighted_metrics=dict(weighted_metrics),
        # XLA is slower on the CPU, and Keras would try it.
        jit_compile=False,
    )
    step = restore_latest_checkpoint(model, output_dir / "checkpoints")
    if step:
        logging.info("Going on from the checkpoint of step %d", step)
    history = History(output_dir, step)
    if step >= num_train_steps:
        return model, history.rows[-1]

    interval = min(config.save_checkpoints_steps, num_train_steps)
    first_epoch = step // interval
    num_intervals = -(-(num_train_steps - step) // interval)
    model.fit(
        train_dataset.skip(step),
        validation_data=validation_dataset,
        initial_epoch=first_epoch,
        epochs=first_epoch + num_intervals,
        steps_per_epoch=interval,
        shuffle=False,
        # A bar on a screen, a line after every interval in a file.
        verbose=1 if sys.stdout.isatty() else 2,
        callbacks=[
            _SaveAndLog(
                step,
                num_train_steps,
                history,
                output_dir / "checkpoints",
                {"train_config.json": config.to_json(), **sidecars},
                config,
            ),
            keras.callbacks.TensorBoard(
                str(output_dir / "tensorboard"), write_graph=False
            ),
        ],
    )
    return model, history.rows[-1]


class _SaveAndLog(keras.callbacks.Callback):
    """Ends the run at its last step; after each interval, logs and saves."""

    def __init__(
        self, step, num_train_steps, history, folder, sidecars, config
    ):
        super().__init__()
        self._step = step
        self._num_train_steps = num_train_steps
        self._history = history
        self._folder = folder
        self._sidecars = sidecars
        self._config = config

    def on_epoch_begin(self, epoch, logs=None):
        self._begin = time.monotonic(), self._step

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        self._end = time.monotonic()
        if self._step == self._num_train_steps:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        begin, first_step = self._begin
        num_examples = (self._step - first_step) * self._config.train_batch_size
        self._history.add(
            {
                "step": self._step,
                **{name: float(value) for name, value in logs.items()},
                "learning_rate": float(self.model.optimizer.learning_rate),
                "examples_per_second": num_examples / (self._end - begin),
            }
        )
        save_checkpoint(
            self.model,
            self._folder,
            self._step,
            sidecars=self._sidecars,
            keep_max=self._config.keep_checkpoint_max,
        )

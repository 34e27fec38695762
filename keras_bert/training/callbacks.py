"""Calls Keras callbacks, such as loggers, from this package's training loop."""

import collections
from collections.abc import Sequence
from typing import Any

import keras

from keras_bert.errors import InputError

_OF_LEARNING_RATE = (
    keras.callbacks.LearningRateScheduler,
    keras.callbacks.ReduceLROnPlateau,
)


def as_list(
    callbacks: keras.callbacks.Callback
    | Sequence[keras.callbacks.Callback]
    | None,
) -> list[keras.callbacks.Callback]:
    """Returns one callback, several or none as a list.

    Raises InputError for a callback that sets the learning rate.
    """
    if isinstance(callbacks, keras.callbacks.Callback):
        callbacks = [callbacks]
    for callback in callbacks or ():
        if isinstance(callback, _OF_LEARNING_RATE):
            raise InputError(
                f"{type(callback).__name__} sets the learning rate, which "
                "follows the schedule of the config; leave the callback out, "
                "and give learning_rate, warmup_proportion, stable_proportion "
                "or decay_power."
            )
    return list(callbacks or ())


class Callbacks:
    """Calls Keras callbacks during a run, as Keras' `fit` does.

    An epoch is the interval between two checkpoints: in fine-tuning one pass
    over the training rows, unless the config has `save_checkpoints_steps`. The
    index of an epoch counts the intervals of the whole run, even in a resumed
    run. A batch is a training step. What a callback itself counts, such as the
    patience of EarlyStopping, is not saved: a resumed run starts the count
    anew, and a warning says so. The count of fine-tuning's
    `early_stopping_patience` is kept.

    These methods are called: `on_train_begin` and `on_train_end`,
    `on_epoch_begin` and `on_epoch_end`, `on_train_batch_begin` and
    `on_train_batch_end`. With several steps per execution, the two batch
    methods are called once per execution.

    The logs of an epoch are the last row of `history.csv`: means over the steps
    since the row before, `val_` metrics, speeds and the step. The logs of a
    batch contain the `learning_rate` of the step, and `loss` and all other
    training metrics as means over the steps since the last row of the history.
    A value is read from the device when a callback looks it up in the logs; the
    callback then waits for the step. A callback that looks up no value costs
    nothing.

    A callback's `model` has the weights that are saved. A callback that sets
    `model.stop_training = True` ends the run after the step, with a checkpoint
    and an evaluation. With several workers, the run ends after the interval,
    and only the chief's callbacks decide. To continue the training afterwards,
    repeat the call without callbacks; a call with callbacks does nothing.
    """

    def __init__(
        self,
        callbacks: Sequence[keras.callbacks.Callback],
        model: keras.Model,
        optimizer: keras.optimizers.Optimizer,
        **params: int,
    ):
        self._callbacks = as_list(callbacks)
        self._model = model
        if callbacks:
            model.optimizer = optimizer  # Keras' TensorBoard needs it
        for callback in self._callbacks:
            callback.set_params({"verbose": 0, **params})
            callback.set_model(model)
        model.stop_training = False

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    @property
    def stops(self) -> bool:
        """Whether a callback has asked to end the run."""
        return bool(self._model.stop_training)

    def call(self, method: str, *arguments: Any) -> None:
        """Calls a method of all callbacks, such as "on_epoch_begin"."""
        for callback in self._callbacks:
            getattr(callback, method)(*arguments)


class LazyMetrics(collections.UserDict):
    """Metrics, each of which is read from the device when it is looked up."""

    def __getitem__(self, name: str) -> float:
        return float(super().__getitem__(name))

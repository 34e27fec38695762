"""The description of a run, and its network, ready to train."""

import contextlib
import dataclasses
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.training.best import Selection
from keras_bert.training.checkpoint import TrainingState
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import (
    WHOLE,
    BatchShard,
    has_workers,
    precision,
    uses_xla,
)
from keras_bert.training.objectives import Distillation, Objective
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.run_folder import RunFolder
from keras_bert.training.steps import CountWork, Steps

_BUILDING = threading.Lock()


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingSetup:
    """The network of a run, its data, and what the model is measured on.

    Attributes:
        config: The settings of the run.
        build_model: A function that returns the model with its initial weights.
        objectives: The objectives by the name of the model's output.
        count_work: A function of the features of a batch, used in a graph, that
            returns the numbers of sequences, tokens and flops in the batch; see
            `WORK`. The numbers are reported per second.
        num_train_steps: The number of steps of the whole run.
        num_warmup_steps: The number of steps until the learning rate is at its
            peak.
        train_batches: A function that takes the number of steps already done
            and a worker's shard. It returns the worker's rows of the remaining
            batches, up to step `num_train_steps`. The same seed gives the same
            batches. A batch is (features, labels, weights), where labels and
            weights are dicts by output; see `Steps`.
        held_out_batches: A function of the shard of a worker that returns the
            worker's rows of held-out batches, or None. The batches are
            evaluated after every `save_checkpoints_steps` steps and at the end.
        selection: How the model is evaluated after every interval, and how the
            best model is chosen for `best/`. With a selection, held_out_batches
            is not used.
        evaluates_first: Whether to evaluate the initial weights too, as step
            0 of the history.
        learning_rate_factors: The factors of the learning rate, as in
            `build_optimizer`.
        distill: A function of the model that returns a `Distillation`. The
            distillation's network is trained instead of the model and shares
            the model's weights. Only the model is evaluated and saved as the
            result.
        init_moments: The checkpoint with the optimizer moments that training
            starts with; None for new moments.
    """

    config: TrainConfig
    build_model: Callable[[], keras.Model]
    objectives: Mapping[str, Objective]
    count_work: CountWork
    num_train_steps: int
    num_warmup_steps: int
    train_batches: Callable[[int, BatchShard], tf.data.Dataset]
    held_out_batches: Callable[[BatchShard], tf.data.Dataset] | None = None
    selection: Selection | None = None
    evaluates_first: bool = False
    learning_rate_factors: Mapping[str, float] | None = None
    distill: Callable[[keras.Model], Distillation] | None = None
    init_moments: Path | None = None

    @property
    def interval(self) -> int:
        """The number of steps between two checkpoints."""
        return min(self.config.save_checkpoints_steps, self.num_train_steps)


def build_network(
    setup: TrainingSetup, folder: RunFolder, step: int
) -> tuple[Steps, TrainingState, keras.Variable | None]:
    """Returns the `Steps` and the state of a run, as they are after `step`.

    Also returns a variable for the share of `max_train_time` that has elapsed;
    None without this limit.
    """
    config, checkpoint = setup.config, folder.checkpoint_of(step)
    with (
        _seeded(config.random_seed),
        folder.strategy.scope(),
        precision(config.precision),
    ):
        model = setup.build_model()
        distillation = setup.distill(model) if setup.distill else None
        trained = distillation or setup
        share_of_time = None
        if config.max_train_time:
            share_of_time = keras.Variable(
                0.0, trainable=False, name="share_of_time"
            )
        steps = Steps(
            distillation.network if distillation else model,
            trained.objectives,
            build_optimizer(
                config,
                setup.num_train_steps,
                setup.num_warmup_steps,
                setup.learning_rate_factors,
                share_of_time,
            ),
            count_work=setup.count_work,
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            steps_per_execution=config.steps_per_execution,
            jit_compile=uses_xla(
                config, lambda: setup.train_batches(step, WHOLE)
            ),
            distillation=distillation,
        )
        state = TrainingState(
            steps.network, steps.optimizer, model, folder.weight_filter
        )
        if checkpoint:
            state.restore(checkpoint)
        elif setup.init_moments:
            state.restore_moments(setup.init_moments)
    return steps, state, share_of_time


def check_steps(
    setup: TrainingSetup, strategy: tf.distribute.Strategy, step: int
) -> None:
    """Raises InputError if batches or steps cannot be divided evenly."""
    config = setup.config
    num_steps, num_warmup_steps = setup.num_train_steps, setup.num_warmup_steps
    num_devices = strategy.num_replicas_in_sync
    num_parts = num_devices * config.gradient_accumulation_steps
    if config.train_batch_size % num_parts:
        raise InputError(
            f"train_batch_size {config.train_batch_size} cannot be split "
            f"evenly over {num_devices} devices times "
            f"{config.gradient_accumulation_steps} "
            "gradient_accumulation_steps; choose a multiple of "
            f"{num_parts}."
        )
    for number in setup.interval, num_steps, max(0, num_steps - step):
        if number % config.steps_per_execution:
            raise InputError(
                f"steps_per_execution {config.steps_per_execution} does "
                f"not divide {number} steps; choose a number that divides "
                "the steps of the run, the steps left and "
                "save_checkpoints_steps."
            )
    if config.max_train_time and has_workers(strategy):
        raise InputError(
            "Each worker has its own clock, so max_train_time needs a run of "
            "one process; leave out max_train_time."
        )
    if num_warmup_steps > num_steps or num_steps == 1:
        logging.warning(
            f"The warm-up takes {num_warmup_steps} steps and the run has "
            f"{num_steps}, so the learning rate does not reach its peak; a "
            "run of one step trains nothing. Give more steps or epochs, or a "
            "shorter warm-up."
        )


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds Python and NumPy, from which Keras takes the seeds of layers.

    Afterwards, their random states are as before. All threads share these
    states, so only one thread at a time may build a network.
    """
    with _BUILDING:
        states = random.getstate(), np.random.get_state()
        random.seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])

"""Builds, trains, saves, resumes and logs a run."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import keras
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.files import atomic_path, remove
from keras_bert.progress import Progress
from keras_bert.storage.paths import is_remote, to_path
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import is_chief, precision
from keras_bert.training.interruption import StopsOnSignal
from keras_bert.training.intervals import EndsIntervals
from keras_bert.training.matmul_speed import measure_matmul_speed
from keras_bert.training.objectives import Objective
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.run_files.best import KeepsBest, Selection
from keras_bert.training.run_files.checkpoint import (
    CheckpointWriter,
    Holds,
    every_weight,
    latest_step,
    restore_checkpoint,
    restore_moments,
)
from keras_bert.training.run_files.history import History
from keras_bert.training.run_files.summary import describe_run
from keras_bert.training.share import WHOLE, Share, distribute
from keras_bert.training.teaching import Teaching
from keras_bert.training.training_model import CountWork, TrainingModel
from keras_bert.training.workers import lost_worker_named, value_of_chief

_CONFIG = "train_config.json"


def train(
    build_model: Callable[[], keras.Model],
    train_batches: Callable[[int, Share], tf.data.Dataset],
    validation_batches: Callable[[Share], tf.data.Dataset] | None,
    *,
    objectives: Mapping[str, Objective],
    count_work: CountWork,
    num_train_steps: int,
    num_warmup_steps: int,
    strategy: tf.distribute.Strategy,
    config: TrainConfig,
    output_dir: str | Path,
    sidecars: Mapping[str, str],
    init_moments: Path | None = None,
    evaluates_first: bool = False,
    selection: Selection | None = None,
    holds: Holds = every_weight,
    learning_rate_factors: Mapping[str, float] | None = None,
    teach: Callable[[keras.Model], Teaching] | None = None,
) -> tuple[keras.Model, dict[str, float]]:
    """Trains a model, or resumes where an earlier call was interrupted.

    Args:
        build_model: Returns the model with its initial weights.
        train_batches: Takes a number of steps and the share of a worker.
            Returns its rows of the batches after these steps, enough for
            `num_train_steps` in all and always the same for one seed:
            (features, labels, weights), the last two by output; see
            `TrainingModel`.
        validation_batches: Takes the share of a worker and returns its rows
            of held-out batches, which are evaluated after every
            `config.save_checkpoints_steps` steps and at the end; or None.
        objectives: By the name of the model's output.
        count_work: Features -> sequences, tokens and flops of the batch, in
            graph; see `WORK`. They are reported per second.
        num_train_steps: Steps of the whole run.
        num_warmup_steps: Steps until the learning rate is at its peak.
        strategy: From `get_strategy`, by the config. For several workers and
            TPUs, make it before anything else in TensorFlow.
        config: All other settings.
        output_dir: Gets `checkpoints/`, `history.csv`, `curves.png` and
            `tensorboard/`.
        sidecars: Text files to save beside the weights of each checkpoint.
        init_moments: A checkpoint whose optimizer's moments to start with.
        evaluates_first: Whether to evaluate the initial weights too, as step
            0 of the history.
        selection: Evaluates the model after every interval, in place of
            validation_batches, and keeps the best one as `best/`.
        holds: Whether a checkpoint holds the weight of a path. `build_model`
            must return the others with the values that they keep.
        learning_rate_factors: Those of `build_optimizer`.
        teach: Takes the model, and returns the network that is trained in its
            place and shares its weights. The model alone is evaluated, kept
            and returned.

    Returns:
        The trained model and the last row of `history.csv`.

    Raises:
        ConnectionError: If another worker is lost.
        SystemExit: After SIGTERM, with status 143; the step is saved.
        InputError: If a loss or a weight is not finite, or a batch cannot be
            split.
    """
    output_dir = to_path(output_dir)
    interval = min(config.save_checkpoints_steps, num_train_steps)
    keras.utils.set_random_seed(config.random_seed)
    checkpoints = output_dir / "checkpoints"
    step = value_of_chief(strategy, latest_step(checkpoints))
    _check_divisions(config, strategy, interval, num_train_steps, step)
    if num_warmup_steps > num_train_steps:
        logging.warning(
            "The warm-up takes %d steps, but the run has %d: the learning rate "
            "will not reach its peak.",
            num_warmup_steps,
            num_train_steps,
        )
    batches = functools.partial(train_batches, step)
    with strategy.scope(), precision(config.precision):
        model = build_model()
        teaching = teach(model) if teach else None
        trained = TrainingModel(
            teaching.network if teaching else model,
            teaching.objectives if teaching else objectives,
            count_work=count_work,
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            jit_compile=_is_compiled(config, batches),
            teaching=teaching,
        )
        trained.compile(
            build_optimizer(
                config, num_train_steps, num_warmup_steps, learning_rate_factors
            ),
            steps_per_execution=config.steps_per_execution,
            auto_scale_loss=False,  # `build_optimizer` does it if needed
            jit_compile=False,  # the model does it
        )
        if step:
            folder = restore_checkpoint(
                trained, checkpoints, step, result=model, holds=holds
            )
            logging.info("Resuming from the checkpoint of step %d", step)
            _warn_of_changes(folder / _CONFIG, config)
        elif init_moments:
            restore_moments(trained, init_moments)
    history = History(output_dir, step)
    evaluate: Callable | None = None
    ends_run = None
    if validation_batches:
        num_batches = int(validation_batches(WHOLE).cardinality())
        dataset = distribute(strategy, validation_batches)
        evaluate = functools.partial(_evaluate, dataset, num_batches)
    elif selection:
        best = KeepsBest(
            selection,
            output_dir / "best",
            interval=interval,
            sidecars=sidecars,
            strategy=strategy,
            holds=holds,
        )
        evaluate = functools.partial(_evaluate_alone, best, model)
        ends_run = best.ends_run
    # SIGTERM may have come before the evaluation at the end of an interval.
    is_due = value_of_chief(
        strategy,
        evaluate is not None
        and history.lacks_held_out_figures
        and (step % interval == 0 or step >= num_train_steps),
    ) or (step == 0 and evaluates_first and evaluate is not None)
    is_finished = step >= num_train_steps or (ends_run and ends_run(step))
    if is_finished and not is_due:
        logging.info(
            "The run in %s is finished, at step %d; for another one, give "
            "another output_dir.",
            output_dir,
            step,
        )
        return model, history.last

    _make_writable(output_dir)
    writer = CheckpointWriter(
        trained,
        checkpoints,
        sidecars={_CONFIG: config.to_json(), **sidecars},
        keep_max=config.keep_checkpoint_max,
        result=model,
        holds=holds,
    )
    with (
        lost_worker_named(strategy),
        writer,
        Progress("Training", num_train_steps, initial=step) as progress,
    ):
        intervals = EndsIntervals(
            step,
            num_train_steps,
            interval,
            matmul_speed=strategy.num_replicas_in_sync
            * measure_matmul_speed(config.precision, trained.first_device),
            history=history,
            writer=writer if is_chief(strategy) else None,
            evaluate=evaluate,
            ends_run=ends_run,
            progress=progress,
        )
        intervals.set_model(trained)
        with StopsOnSignal(intervals) as stops:
            if is_due:
                intervals.evaluate()
            if not (is_due and intervals.ends_run()):
                trained.fit(
                    distribute(strategy, batches),
                    initial_epoch=step // interval,
                    epochs=-(-num_train_steps // interval),
                    steps_per_epoch=interval,
                    shuffle=False,
                    verbose=0,
                    callbacks=[intervals, stops],
                )
    if is_chief(strategy):
        metric = selection.metric if selection else None
        logging.info("%s", describe_run(history.rows, metric))
    return model, history.last


def _evaluate_alone(best, model, trained, step):
    """Evaluates the model itself, not the one that trains it."""
    return best.evaluate(model, step)


def _evaluate(dataset, num_batches, model, step):
    with Progress("Evaluating", num_batches, "batches") as progress:
        return model.evaluate(
            dataset,
            steps=num_batches,
            verbose=0,
            return_dict=True,
            callbacks=[
                keras.callbacks.LambdaCallback(
                    on_test_batch_end=lambda batch, logs: progress.update(
                        model.steps_per_execution
                    )
                )
            ],
        )


def _check_divisions(config, strategy, interval, num_train_steps, step):
    num_parts = (
        strategy.num_replicas_in_sync * config.gradient_accumulation_steps
    )
    if config.train_batch_size % num_parts:
        raise InputError(
            f"train_batch_size {config.train_batch_size} cannot be split "
            f"evenly: there are {strategy.num_replicas_in_sync} devices and "
            f"{config.gradient_accumulation_steps} "
            "gradient_accumulation_steps; choose a multiple of "
            f"{num_parts}."
        )
    for steps in (interval, num_train_steps, max(0, num_train_steps - step)):
        if steps % config.steps_per_execution:
            raise InputError(
                f"steps_per_execution {config.steps_per_execution} does not "
                f"divide {steps} steps; choose one that divides the steps of "
                "the run, the steps left and save_checkpoints_steps."
            )


def _warn_of_changes(file, config):
    """Names the settings that differ from those of the checkpoint."""
    if not file.is_file():
        return
    before = json.loads(file.read_text(encoding="utf-8"))
    changes = [
        f"{name} {value!r} instead of {before[name]!r}"
        for name, value in dataclasses.asdict(config).items()
        if before.get(name, value) != value
    ]
    if changes:
        logging.warning(
            "The run in %s resumes with %s.",
            file.parents[2],
            ", ".join(changes),
        )


def _make_writable(folder):
    """Creates the folder, or raises OSError now and not after hours."""
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


def _is_compiled(config, batches):
    if config.jit_compile != "auto":
        return config.jit_compile == "on"
    # XLA is slower on a CPU, and it compiles anew for each shape.
    if not any(map(tf.config.list_logical_devices, ("GPU", "TPU"))):
        return False
    specs = tf.nest.flatten(batches(WHOLE).element_spec)
    return all(spec.shape.is_fully_defined() for spec in specs)

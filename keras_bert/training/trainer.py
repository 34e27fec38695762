"""Builds, trains, saves, resumes and logs a run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import keras
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote, to_path
from keras_bert.io.whole_files import atomic_path, remove, whole_folder
from keras_bert.progress import Progress
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import is_chief, precision
from keras_bert.training.matmul_speed import measure_matmul_speed
from keras_bert.training.objectives import Objective
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.run import Run
from keras_bert.training.run_files.best import KeepsBest, Selection
from keras_bert.training.run_files.checkpoint import (
    CheckpointWriter,
    Holds,
    checkpoint_of_step,
    every_weight,
    latest_step,
    restore_checkpoint,
    restore_moments,
)
from keras_bert.training.run_files.fingerprint import (
    FINGERPRINT_FILE,
    Fingerprint,
)
from keras_bert.training.run_files.history import History
from keras_bert.training.run_files.summary import describe_run
from keras_bert.training.share import WHOLE, Share, distribute
from keras_bert.training.steps import CountWork, Steps
from keras_bert.training.teaching import Teaching
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
    fingerprint: Fingerprint,
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
            `Steps`.
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
        fingerprint: All that decides on the result. A run resumes only from
            checkpoints with the same one.
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
        InputError: If a loss or a weight is not finite, if a batch cannot be
            split, or if `output_dir` has another run.
    """
    output_dir = to_path(output_dir)
    interval = min(config.save_checkpoints_steps, num_train_steps)
    keras.utils.set_random_seed(config.random_seed)
    checkpoints = output_dir / "checkpoints"
    writes = is_chief(strategy)
    step = value_of_chief(strategy, latest_step(checkpoints) if writes else 0)
    _check_divisions(config, strategy, interval, num_train_steps, step)
    _warn_of_a_short_run(num_train_steps, num_warmup_steps)
    if step:
        checkpoint = checkpoint_of_step(checkpoints, step)
        fingerprint.check_is_that_of(checkpoint, output_dir)
    elif writes:
        _remove_best_of_same_run(output_dir, fingerprint)
    sidecars = {**sidecars, FINGERPRINT_FILE: fingerprint.to_json()}
    batches = functools.partial(train_batches, step)
    with strategy.scope(), precision(config.precision):
        model = build_model()
        teaching = teach(model) if teach else None
        steps = Steps(
            teaching.network if teaching else model,
            teaching.objectives if teaching else objectives,
            build_optimizer(
                config, num_train_steps, num_warmup_steps, learning_rate_factors
            ),
            count_work=count_work,
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            steps_per_execution=config.steps_per_execution,
            jit_compile=_is_compiled(config, batches),
            teaching=teaching,
        )
        if step:
            restore_checkpoint(
                checkpoint,
                steps.network,
                steps.optimizer,
                result=model,
                holds=holds,
            )
            logging.info("Resuming from the checkpoint of step %d", step)
        elif init_moments:
            restore_moments(steps.optimizer, init_moments)
    history = History(output_dir, step)
    evaluate: Callable[[int], Mapping[str, float]] | None = None
    ends_run = None
    if validation_batches:
        evaluate = _evaluation(steps, strategy, validation_batches)
    elif selection:
        best = KeepsBest(
            selection,
            output_dir / "best",
            step=step,
            interval=interval,
            sidecars=sidecars,
            strategy=strategy,
            holds=holds,
        )
        # The model itself is evaluated, not the network that trains it.
        evaluate = functools.partial(best.evaluate, model)
        ends_run = best.ends_run
    # The process may have ended before the evaluation of this step.
    is_due = value_of_chief(
        strategy,
        evaluate is not None
        and history.lacks_held_out_figures
        and (step % interval == 0 or step >= num_train_steps),
    ) or (step == 0 and evaluates_first and evaluate is not None)
    is_finished = step >= num_train_steps or (ends_run and ends_run(step))
    if is_finished and not is_due:
        logging.warning(
            "The run in %s is finished, at step %d, with the same inputs; it "
            "is not run again. To start over, give overwrite_output_dir.",
            output_dir,
            step,
        )
        return model, history.last

    _make_writable(output_dir)
    writer = CheckpointWriter(
        steps.network,
        steps.optimizer,
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
        run = Run(
            steps,
            history,
            writer if writes else None,
            step=step,
            num_train_steps=num_train_steps,
            interval=interval,
            matmul_speed=strategy.num_replicas_in_sync
            * measure_matmul_speed(config.precision, steps.first_device),
            evaluate=evaluate,
            ends_run=ends_run,
            progress=progress,
        )
        run.train(distribute(strategy, batches), evaluates_first=bool(is_due))
    if writes:
        metric = selection.metric if selection else None
        logging.info("%s", describe_run(history.rows, metric))
    return model, history.last


def start_over(output_dir: str | Path, strategy: tf.distribute.Strategy):
    """Removes what a run would resume from."""
    if is_chief(strategy):
        for name in ("checkpoints", "best", "history.csv"):
            remove(to_path(output_dir) / name)


def _evaluation(steps, strategy, batches):
    num_batches = int(batches(WHOLE).cardinality())
    dataset = distribute(strategy, batches)

    def evaluate(step):
        with Progress("Evaluating", num_batches, "batches") as progress:
            return steps.evaluate(
                dataset, num_batches, functools.partial(progress.update, 1)
            )

    return evaluate


def _remove_best_of_same_run(output_dir, fingerprint):
    """Removes a result without checkpoints: the run makes the same again.

    Raises InputError if it is the result of another run.
    """
    best = whole_folder(output_dir / "best")
    if best.is_dir():
        fingerprint.check_is_that_of(best, output_dir)
        remove(best)


def _warn_of_a_short_run(num_train_steps, num_warmup_steps):
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

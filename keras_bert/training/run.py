"""A training run: builds, trains, evaluates, saves, resumes and logs."""

import contextlib
import dataclasses
import functools
import json
import math
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, remove, whole_folder
from keras_bert.progress import Progress
from keras_bert.training.best import SCORE_FILE, Selection, best_of, is_better
from keras_bert.training.callbacks import Callbacks, LazyFigures
from keras_bert.training.checkpoint import (
    Holds,
    TrainingState,
    checkpoint_of_step,
    checkpoint_writer,
    every_weight,
    latest_step,
    write_weights,
)
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import (
    WHOLE,
    Share,
    distribute,
    has_workers,
    is_chief,
    lost_worker_named,
    precision,
    uses_xla,
    value_of_chief,
)
from keras_bert.training.fingerprint import FINGERPRINT_FILE, Fingerprint
from keras_bert.training.history import HELD_OUT, History
from keras_bert.training.objectives import Objective, Teaching
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import CountWork, Steps

_CONFIG = "train_config.json"
# A run has at least this number of rows of training figures.
_NUM_ROWS = 100
# The status that a shell reports for a process ended by SIGTERM.
_STATUS = 128 + signal.SIGTERM
_BUILDING = threading.Lock()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Trainee:
    """What a run trains.

    Attributes:
        build_model: Returns the model with its initial weights.
        objectives: By the name of the model's output.
        count_work: Features -> sequences, tokens and flops of the batch, in
            graph; see `WORK`. They are reported per second.
        learning_rate_factors: See `build_optimizer`.
        holds: Whether a checkpoint holds the weight of a path. `build_model`
            must give all other weights the values that they keep.
        teach: Takes the model, and returns the network that is trained in its
            place and shares its weights. The model alone is evaluated, kept
            and the result.
        init_moments: A checkpoint; training starts with the moments in it.
    """

    build_model: Callable[[], keras.Model]
    objectives: Mapping[str, Objective]
    count_work: CountWork
    learning_rate_factors: Mapping[str, float] | None = None
    holds: Holds = every_weight
    teach: Callable[[keras.Model], Teaching] | None = None
    init_moments: Path | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps of a run, their data, and what the model is measured on.

    Attributes:
        num_train_steps: Steps of the whole run.
        num_warmup_steps: Steps until the learning rate is at its peak.
        train_batches: Takes a number of steps and the share of a worker.
            Returns its rows of the batches after these steps, enough for
            `num_train_steps` in all and always the same for one seed:
            (features, labels, weights), the last two by output; see `Steps`.
        held_out_batches: Takes the share of a worker and returns its rows of
            held-out batches, which are evaluated after every
            `save_checkpoints_steps` steps and at the end; or None.
        selection: Evaluates the model after every interval, in place of
            held_out_batches, and keeps the best one as `best/`.
        evaluates_first: Whether to evaluate the initial weights too, as step
            0 of the history.
    """

    num_train_steps: int
    num_warmup_steps: int
    train_batches: Callable[[int, Share], tf.data.Dataset]
    held_out_batches: Callable[[Share], tf.data.Dataset] | None = None
    selection: Selection | None = None
    evaluates_first: bool = False


@dataclasses.dataclass(eq=False)
class Run:
    """Trains a model, or continues where an earlier run was interrupted.

    A new object builds the model and restores the last checkpoint, if there
    is one.

    An interval ends at every multiple of `save_checkpoints_steps` and at the
    last step: the history is written, a checkpoint saved, and then the model
    evaluated. If a process is killed in an evaluation, only this evaluation is
    lost, and the resumed run begins with it. A row of the history holds means
    over the steps since the row before.

    The host waits for the device only when a row is due. A loss or a weight
    that is not finite then raises InputError, which names the step. Weights
    that are not finite are not saved, and the last checkpoint stays.

    Speeds count the training steps alone. `minutes` continue from the last
    row and include evaluation and checkpoints.

    Raises InputError if a batch cannot be split, or if `output_dir` has another
    run.

    Attributes:
        trainee: The model, and how it is trained.
        plan: Steps and data.
        strategy: From `get_strategy`, by the config. For several workers and
            TPUs, make it before anything else in TensorFlow.
        config: All other settings.
        output_dir: Gets `checkpoints/`, `history.csv` and `tensorboard/`.
        sidecars: Text files to save beside the weights of each checkpoint.
        fingerprint: All that decides on the result. A run resumes only from
            checkpoints with the same one.
        callbacks: See `Callbacks`.
        starts_over: Whether to remove what an earlier run left.
        step: The number of steps that were taken.
        model: The model with the weights of this step.
        history: The figures of these steps.
    """

    trainee: Trainee
    plan: Plan
    _: dataclasses.KW_ONLY
    strategy: tf.distribute.Strategy
    config: TrainConfig
    output_dir: str | Path
    sidecars: Mapping[str, str]
    fingerprint: Fingerprint
    callbacks: Sequence[keras.callbacks.Callback] = ()
    starts_over: bool = False

    def __post_init__(self):
        self._folder = to_path(self.output_dir)
        self._texts = {
            **self.sidecars,
            FINGERPRINT_FILE: self.fingerprint.to_json(),
        }
        self._writes = is_chief(self.strategy)
        self._interval = min(
            self.config.save_checkpoints_steps, self.plan.num_train_steps
        )
        if self.starts_over and self._writes:
            for name in ("checkpoints", "best", "history.csv"):
                remove(self._folder / name)
        checkpoint = self._find_checkpoint()
        with (
            _seeded(self.config.random_seed),
            self.strategy.scope(),
            precision(self.config.precision),
        ):
            self._build(checkpoint)
        self.history = History(self._folder, self.step)
        self._callbacks = Callbacks(
            self.callbacks,
            self.model,
            self._steps.optimizer,
            epochs=math.ceil(self.plan.num_train_steps / self._interval),
            steps=self._interval,
        )

    def train(self) -> dict[str, float]:
        """Takes the steps that are left; returns the last row of the history.

        After SIGTERM, saves the current step and exits with status 143.

        Raises:
            ConnectionError: If another worker is lost.
            SystemExit: After SIGTERM, with status 143; the step is saved.
            InputError: If a loss or a weight is not finite.
        """
        minutes_before = self.history.last.get("minutes", 0.0)
        self._begin = time.monotonic() - 60 * minutes_before
        is_due = self._is_evaluation_due()
        if self._is_over() and not is_due:
            logging.warning(
                f"The run in {self._folder} is finished, at step "
                f"{self.step}, with the same inputs; it is not run again. To "
                "start over, give overwrite_output_dir."
            )
            return self.history.last
        if self._writes:
            # A folder that is read-only must not be noticed after hours.
            with atomic_path(self._folder / ".writable") as path:
                path.touch()
            remove(self._folder / ".writable")
        num_steps, limit = self.plan.num_train_steps, self.config.max_train_time
        self._row_begin = self.step
        self._shown: dict[str, float] = {}
        self._ends_at_once = False
        with (
            lost_worker_named(self.strategy),
            checkpoint_writer(
                self._state,
                self._folder / "checkpoints",
                sidecars={_CONFIG: self.config.to_json(), **self._texts},
                keep_max=self.config.keep_checkpoint_max,
            ) as self._save,
            # With a limit of time, nobody knows how many steps there are.
            Progress(
                "Training", None if limit else num_steps, initial=self.step
            ) as self._progress,
            self._sigterm_noted() as self._signals,
        ):
            logging.info(
                f"The run starts at step {self.step}; a checkpoint is written "
                f"every {self._interval} steps"
            )
            if self.step and self.callbacks:
                logging.warning(
                    "Callbacks such as EarlyStopping count anew from step "
                    f"{self.step}, where the run resumes."
                )
            self._callbacks.call("on_train_begin")
            if is_due:
                self._end_interval()
            while not self._is_over():
                self._train_interval()
            self._callbacks.call("on_train_end")
        if self.step < num_steps:
            why = "The patience"
            if self._share_of_time() >= 1:
                why = "max_train_time"
            elif self._callbacks.stops:
                why = "A callback"
            logging.info(f"{why} has ended the run early.")
        return self.history.last

    def write_weights(
        self, folder: Path, sidecars: Mapping[str, str] | None = None
    ) -> None:
        """Writes the present weights, with the sidecars of a checkpoint."""
        if self._writes:
            sidecars = {**self._texts, **(sidecars or {})}
            write_weights(self.model, folder, sidecars, self._state.holds)

    def _find_checkpoint(self):
        """Returns the checkpoint from which the run continues, or None."""
        checkpoints = self._folder / "checkpoints"
        self.step = value_of_chief(
            self.strategy, latest_step(checkpoints) if self._writes else 0
        )
        self._check_steps()
        if self.step:
            checkpoint = checkpoint_of_step(checkpoints, self.step)
            self.fingerprint.check_is_that_of(checkpoint, self._folder)
            return checkpoint
        # A result without checkpoints: the same run makes it again.
        best = whole_folder(self._folder / "best")
        if self._writes and best.is_dir():
            self.fingerprint.check_is_that_of(best, self._folder)
            remove(best)
        return None

    def _check_steps(self):
        """Raises InputError if batches or steps cannot be divided evenly."""
        config, num_steps = self.config, self.plan.num_train_steps
        num_warmup_steps = self.plan.num_warmup_steps
        num_devices = self.strategy.num_replicas_in_sync
        num_parts = num_devices * config.gradient_accumulation_steps
        if config.train_batch_size % num_parts:
            raise InputError(
                f"train_batch_size {config.train_batch_size} cannot be split "
                f"evenly over {num_devices} devices times "
                f"{config.gradient_accumulation_steps} "
                "gradient_accumulation_steps; choose a multiple of "
                f"{num_parts}."
            )
        for number in self._interval, num_steps, max(0, num_steps - self.step):
            if number % config.steps_per_execution:
                raise InputError(
                    f"steps_per_execution {config.steps_per_execution} does "
                    f"not divide {number} steps; choose one that divides the "
                    "steps of the run, the steps left and "
                    "save_checkpoints_steps."
                )
        if config.max_train_time and has_workers(self.strategy):
            raise InputError(
                "Each worker has its own clock, so max_train_time takes a run "
                "of one process; leave it out."
            )
        if num_warmup_steps > num_steps or num_steps == 1:
            logging.warning(
                f"The warm-up takes {num_warmup_steps} steps and the run has "
                f"{num_steps}, so the learning rate does not reach its peak; a "
                "run of one step trains nothing. Give it more steps."
            )

    def _build(self, checkpoint):
        trainee, plan, config = self.trainee, self.plan, self.config
        self.model = trainee.build_model()
        teaching = trainee.teach(self.model) if trainee.teach else None
        self._clock = (
            keras.Variable(0.0, trainable=False, name="share_of_time")
            if config.max_train_time
            else None
        )
        self._steps = steps = Steps(
            teaching.network if teaching else self.model,
            teaching.objectives if teaching else trainee.objectives,
            build_optimizer(
                config,
                plan.num_train_steps,
                plan.num_warmup_steps,
                trainee.learning_rate_factors,
                self._clock,
            ),
            count_work=trainee.count_work,
            gradient_accumulation_steps=config.gradient_accumulation_steps,
            steps_per_execution=config.steps_per_execution,
            jit_compile=uses_xla(
                config, lambda: plan.train_batches(self.step, WHOLE)
            ),
            teaching=teaching,
        )
        self._state = TrainingState(
            steps.network, steps.optimizer, self.model, trainee.holds
        )
        if checkpoint:
            self._state.restore(checkpoint)
        elif trainee.init_moments:
            self._state.restore_moments(trainee.init_moments)

    @functools.cached_property
    def _batches(self):
        make = functools.partial(self.plan.train_batches, self.step)
        return iter(distribute(self.strategy, make))

    def _is_over(self):
        """Whether this step is the last one; all workers must call this."""
        is_early = self._callbacks.stops
        selection = self.plan.selection
        if selection and self._writes:
            patience = selection.patience * self._interval
            best = best_of(self._folder / "best")
            is_early |= 0 < patience <= self.step - best["step"]
        is_early |= self._share_of_time() >= 1
        return self.step >= self.plan.num_train_steps or bool(
            value_of_chief(self.strategy, int(is_early))
        )

    def _share_of_time(self):
        """Returns how much of `max_train_time` is over, from 0 to 1 or more."""
        limit = self.config.max_train_time
        return self._minutes() / limit if limit else 0.0

    def _minutes(self):
        return (time.monotonic() - self._begin) / 60

    def _train_interval(self):
        begin = time.monotonic()
        size = self._steps.steps_per_execution
        row_interval = max(1, self.plan.num_train_steps // _NUM_ROWS)
        epoch = self.step // self._interval
        first_step = epoch * self._interval
        self._callbacks.call("on_epoch_begin", epoch)
        is_over = False
        while not is_over:
            self._callbacks.call("on_train_batch_begin", self.step - first_step)
            if self._clock is not None:
                self._clock.assign(self._share_of_time())
            figures = LazyFigures(self._steps.train(self._batches))
            self.step += size
            self._callbacks.call(
                "on_train_batch_end", self.step - first_step - 1, figures
            )
            is_over = self._is_due() or self._ends_early()
            # A row of figures waits for the device.
            if is_over or self.step % row_interval < size:
                self._add_row(figures)
            self._progress.update(size, **self._shown)
        seconds = time.monotonic() - begin
        work = self._steps.take_work()
        self._check_weights()
        self._add_to_row(
            {f"{name}_per_second": x / seconds for name, x in work.items()}
        )
        if self._writes:
            self.history.write_table()
            self._save(self.step)
        self._exit_if_terminated()
        self._end_interval()
        self._callbacks.call("on_epoch_end", epoch, dict(self.history.last))

    def _is_due(self):
        """Whether an interval ends at this step, however the run goes on."""
        return (
            self.step % self._interval == 0
            or self.step >= self.plan.num_train_steps
            or self._share_of_time() >= 1
        )

    def _ends_early(self):
        # Several workers must take the same number of steps.
        stops = self._callbacks.stops and not has_workers(self.strategy)
        return stops or bool(self._signals)

    def _add_row(self, figures):
        """Adds the figures of the steps since the row before."""
        if ruined_step := self._steps.ruined_step:
            self._refuse(
                "The loss is not finite", self._row_begin + ruined_step
            )
        self._steps.reset_figures()
        self._row_begin = self.step
        self.history.add({"step": self.step, **figures})
        self._shown = {"loss": figures["loss"]}
        if limit := self.config.max_train_time:
            self._shown["minutes left"] = limit - self._minutes()

    def _add_to_row(self, figures):
        self.history.add(
            {"step": self.step, **figures, "minutes": self._minutes()}
        )

    def _check_weights(self):
        for weight in self._steps.network.weights:
            array = weight.numpy()
            if not math.isfinite(np.vdot(array, array)):
                self._refuse(
                    f"{weight.path} is not finite or too large", self.step
                )

    def _end_interval(self):
        """Evaluates the model and writes the files of the history.

        Also completes an interval that was interrupted, and gives the figures
        of the initial weights at step 0.
        """
        # All steps are saved, so nobody needs to wait for the evaluation.
        self._ends_at_once = True
        try:
            figures = self._evaluate()
        finally:
            self._ends_at_once = False
            self._exit_if_terminated()
        if not math.isfinite(figures.get("loss", 0.0)):
            self._refuse("The held-out loss is not finite", self.step)
        self._add_to_row(
            {f"{HELD_OUT}{name}": float(x) for name, x in figures.items()}
        )
        if self._writes:
            self.history.write_table()
            self.history.write_events()
        parts = []
        if "loss" in self.history.last:
            parts.append(f"training loss {self.history.last['loss']:.4g}")
        if figures:
            shown = (f"{name} {float(x):.4g}" for name, x in figures.items())
            parts.append(f"held out: {', '.join(shown).replace('_', ' ')}")
        num_steps = self.plan.num_train_steps
        logging.info(f"Step {self.step} of {num_steps}: {'; '.join(parts)}")
        self._exit_if_terminated()

    def _is_evaluation_due(self):
        """Whether the run begins with one, as the last process ended early."""
        if not (self.plan.held_out_batches or self.plan.selection):
            return False
        lacks = self.history.lacks_held_out_figures and self._is_due()
        is_first = self.step == 0 and self.plan.evaluates_first
        return bool(value_of_chief(self.strategy, int(lacks))) or is_first

    def _evaluate(self):
        if self.plan.selection:
            return self._select(self.plan.selection)
        if not self.plan.held_out_batches:
            return {}
        return self._steps.evaluate(*self._held_out)

    def _select(self, selection):
        """Evaluates the model, and keeps its weights if they are the best."""
        # The model itself, not the network that trains it.
        figures = selection.evaluate(self.model)
        score, folder = figures[selection.metric], self._folder / "best"
        # Ruined weights may guess the right labels.
        is_sound = math.isfinite(figures.get("loss", 0.0))
        if self._writes and is_sound and is_better(score, best_of(folder)):
            best = {
                "step": self.step,
                "score": None if math.isnan(score) else score,
            }
            self.write_weights(folder, {SCORE_FILE: json.dumps(best) + "\n"})
        return figures

    @functools.cached_property
    def _held_out(self):
        batches = self.plan.held_out_batches
        num_batches = int(batches(WHOLE).cardinality())
        return distribute(self.strategy, batches), num_batches

    def _exit_if_terminated(self):
        if self._signals:
            saved = " and saved" if self._writes and self.step else ""
            logging.warning(
                f"Stopped by SIGTERM{saved} at step {self.step}; the same "
                "command goes on from there."
            )
            sys.exit(_STATUS)

    @contextlib.contextmanager
    def _sigterm_noted(self):
        """Notes SIGTERM in a list, instead of ending the process.

        A scheduler sends it before it takes the machine away.
        """
        signals: list[int] = []
        # Python delivers signals to its main thread only.
        if threading.current_thread() is not threading.main_thread():
            yield signals
            return

        def note(number, frame):
            signals.append(number)
            if self._ends_at_once:
                sys.exit(_STATUS)

        before = signal.signal(signal.SIGTERM, note)
        try:
            yield signals
        finally:
            signal.signal(signal.SIGTERM, before)

    def _refuse(self, what, step):
        raise InputError(
            f"{what} at step {step}; the last checkpoint is kept. Lower the "
            "learning rate or lengthen the warm-up."
        )


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seeds Python and NumPy, from which Keras takes the seeds of layers.

    Afterwards they go on as if nothing had been drawn. These states are the
    process's, so one thread at a time may build.
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

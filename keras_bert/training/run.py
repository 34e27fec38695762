"""A training run: steps, rows of the history, checkpoints, evaluations."""

import functools
import math
import time
from collections.abc import Callable, Sequence

import keras
import numpy as np
from absl import logging

from keras_bert.errors import InputError
from keras_bert.progress import Progress
from keras_bert.training.callbacks import Callbacks, LazyMetrics, as_list
from keras_bert.training.checkpoint import checkpoint_writer
from keras_bert.training.distribution import (
    WHOLE,
    distribute,
    lost_worker_named,
    value_of_chief,
)
from keras_bert.training.history import HELD_OUT, History
from keras_bert.training.run_folder import RunFolder
from keras_bert.training.setup import TrainingSetup, build_network, check_steps
from keras_bert.training.steps import Metrics
from keras_bert.training.stopping import Sigterm, StoppingRules

_CONFIG = "train_config.json"
# A run of at least this number of steps has at least this number of rows of
# training metrics.
_NUM_ROWS = 100


def train(
    setup: TrainingSetup,
    folder: RunFolder,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    *,
    ends_at_interrupt: bool = False,
) -> tuple[keras.Model, History]:
    """Trains a model, or continues where an earlier run was interrupted.

    An interval ends at every multiple of `save_checkpoints_steps` and at the
    last step. Then the history is written, a checkpoint is saved, and the model
    is evaluated. If a process is killed during an evaluation, only this
    evaluation is lost, and the resumed run begins with it. A row of the history
    contains means over the steps since the previous row.

    The host waits for the device only when a row is due. Weights that are not
    finite are not saved, and the last checkpoint stays.

    Speeds are measured over the training steps alone. The column `minutes`
    includes evaluations and checkpoints; in a resumed run, it continues from
    the last row.

    With `ends_at_interrupt`, Ctrl-C ends the run early, without an error.

    Returns:
        The model with the weights of the last step, and the history of the run.

    Raises:
        InputError: If a batch cannot be split, if the folder contains another
            run or another process is training in it, or if a loss or a weight
            is not finite. In the last case, the message names the step.
        ConnectionError: If another worker is lost.
        SystemExit: After SIGTERM, with status 143; the step is saved.
    """
    callbacks = as_list(callbacks)  # checked before an earlier run is removed
    with folder.only_writer():
        run = _Run(setup, folder, callbacks)
        try:
            run.go()
        except KeyboardInterrupt:
            if not ends_at_interrupt:
                raise
            logging.warning("Interrupted at step %d.", run.step)
    return run.model, run.history


class _Run:
    """The training loop and its state."""

    def __init__(
        self,
        setup: TrainingSetup,
        folder: RunFolder,
        callbacks: Sequence[keras.callbacks.Callback],
    ):
        self.setup, self.folder, self.config = setup, folder, setup.config
        self.step = self.last_row_step = folder.last_step()
        check_steps(setup, folder.strategy, self.step)
        self.steps, self.state, self.share_of_time = build_network(
            setup, folder, self.step
        )
        # Not `steps.network`, which may be another network that trains it.
        self.model = self.state.result
        self.history = History(folder.path, self.step)
        self.callbacks = Callbacks(
            callbacks,
            self.model,
            self.steps.optimizer,
            epochs=math.ceil(setup.num_train_steps / setup.interval),
            steps=setup.interval,
        )
        self.stopping = StoppingRules(
            setup, folder, self.callbacks, self.history
        )
        self.sigterm = Sigterm()
        # What the progress bar shows beside the steps.
        self.shown: dict[str, float] = {}
        self.held_out = None
        if batches := setup.held_out_batches:
            num_batches = int(batches(WHOLE).cardinality())
            self.held_out = distribute(folder.strategy, batches), num_batches

    def go(self) -> None:
        """Takes the steps that are left, if there are any."""
        begins_with_evaluation = self._begins_with_evaluation()
        if self.stopping.run_is_over(self.step) and not begins_with_evaluation:
            logging.warning(
                f"The run in {self.folder.path} already finished with the "
                f"same inputs, at step {self.step}, so nothing is done. To "
                "start over, give overwrite_output_dir."
            )
            return
        self.folder.check_is_writable()
        sidecars = {_CONFIG: self.config.to_json(), **self.folder.texts()}
        num_steps = self.setup.num_train_steps
        # With a time limit, the number of steps is unknown.
        total = None if self.config.max_train_time else num_steps
        with (
            lost_worker_named(self.folder.strategy),
            checkpoint_writer(
                self.state,
                self.folder.checkpoints,
                sidecars=sidecars,
                keep_max=self.config.keep_checkpoint_max,
            ) as save,
            Progress("Training", total, initial=self.step) as progress,
            self.sigterm,
        ):
            verb = "resumes" if self.step else "starts"
            logging.info(
                f"The run {verb} at step {self.step}; a checkpoint is written "
                f"every {self.setup.interval} steps"
            )
            if self.step and self.callbacks:
                logging.warning(
                    "Callbacks such as EarlyStopping start to count at step "
                    f"{self.step}, where the run resumes."
                )
            self.callbacks.call("on_train_begin")
            if begins_with_evaluation:
                self._evaluate()
            self._train(save, progress)
            self.callbacks.call("on_train_end")
        if self.step < num_steps:
            self.stopping.note_early_end(self.step)

    def _train(self, save: Callable[[int], None], progress: Progress) -> None:
        """Runs the loop: step, history row, check, save, evaluate, stop."""
        steps, call = self.steps, self.callbacks.call
        size, interval = steps.steps_per_execution, self.setup.interval
        row_interval = max(1, self.setup.num_train_steps // _NUM_ROWS)
        make_batches = functools.partial(self.setup.train_batches, self.step)
        batches = iter(distribute(self.folder.strategy, make_batches))
        while not self.stopping.run_is_over(self.step):
            begin, epoch = time.monotonic(), self.step // interval
            first_step = epoch * interval
            call("on_epoch_begin", epoch)
            is_over = False
            while not is_over:
                call("on_train_batch_begin", self.step - first_step)
                if self.share_of_time is not None:
                    self.share_of_time.assign(self.stopping.share_of_time())
                # This does not wait for the device.
                metrics = LazyMetrics(steps.train(batches))
                self.step += size
                call("on_train_batch_end", self.step - first_step - 1, metrics)
                is_over = self.stopping.interval_is_over(self.step)
                is_over |= self.sigterm.is_noted
                if is_over or self.step % row_interval < size:
                    self._add_row(metrics)  # waits for the device
                progress.update(size, **self.shown)
            seconds = time.monotonic() - begin
            work = steps.take_work()
            self._check_weights()
            speeds = {f"{x}_per_second": n / seconds for x, n in work.items()}
            self._add_to_row(speeds)
            if self.folder.is_written:
                self.history.write_table()
                save(self.step)
            self._exit_if_terminated()
            self._evaluate()
            call("on_epoch_end", epoch, dict(self.history.last))

    def _add_row(self, metrics: LazyMetrics) -> None:
        """Adds the metrics of the steps since the previous row."""
        if first_nonfinite_step := self.steps.first_nonfinite_step:
            self._refuse(
                "The loss is not finite",
                self.last_row_step + first_nonfinite_step,
            )
        self.steps.reset_metrics()
        self.last_row_step = self.step
        self.history.add({"step": self.step, **metrics})
        self.shown = {"loss": metrics["loss"]}
        if self.config.max_train_time:
            minutes = self.config.max_train_time - self.stopping.minutes()
            self.shown["minutes left"] = minutes

    def _add_to_row(self, metrics: Metrics) -> None:
        minutes = self.stopping.minutes()
        self.history.add({"step": self.step, **metrics, "minutes": minutes})

    def _check_weights(self) -> None:
        for weight in self.steps.network.weights:
            array = weight.numpy()
            if not math.isfinite(np.vdot(array, array)):
                what = f"{weight.path} is not finite or too large"
                self._refuse(what, self.step)

    def _begins_with_evaluation(self) -> bool:
        """Returns whether the run begins with an evaluation.

        The run does so if the evaluation of the last checkpoint was interrupted
        or, at step 0, if the setup has `evaluates_first`.
        """
        if not (self.setup.held_out_batches or self.setup.selection):
            return False
        if self.step == 0:
            return self.setup.evaluates_first
        rows = self.history.rows
        is_lacking = (
            bool(rows)
            and rows[-1]["step"] == self.step
            and not any(name.startswith(HELD_OUT) for name in rows[-1])
            and self.stopping.interval_is_over(self.step)
        )
        return bool(value_of_chief(self.folder.strategy, int(is_lacking)))

    def _evaluate(self) -> None:
        """Evaluates the model, and writes the metrics to history and log."""
        # All steps are saved, so SIGTERM need not wait for the evaluation.
        try:
            with self.sigterm.ends_process():
                metrics = self._held_out_metrics()
        finally:
            self._exit_if_terminated()
        if not math.isfinite(metrics.get("loss", 0.0)):
            self._refuse("The held-out loss is not finite", self.step)
        held_out = {f"{HELD_OUT}{n}": float(x) for n, x in metrics.items()}
        self._add_to_row(held_out)
        if self.folder.is_written:
            self.history.write_table()
            self.history.write_events()
        parts = []
        if "loss" in self.history.last:
            parts.append(f"training loss {self.history.last['loss']:.4g}")
        if metrics:
            shown = (f"{name} {float(x):.4g}" for name, x in metrics.items())
            parts.append(f"held out: {', '.join(shown).replace('_', ' ')}")
        num_steps = self.setup.num_train_steps
        logging.info(f"Step {self.step} of {num_steps}: {'; '.join(parts)}")
        self._exit_if_terminated()

    def _held_out_metrics(self) -> Metrics:
        """Returns the held-out metrics; writes `best/` if the model is best."""
        selection = self.setup.selection
        if not selection:
            held_out = self.held_out
            return self.steps.evaluate(*held_out) if held_out else {}
        metrics = selection.evaluate(self.model)
        self.folder.keep_if_best(
            self.model, self.step, metrics, selection.metric
        )
        return metrics

    def _exit_if_terminated(self) -> None:
        is_saved = self.folder.is_written and self.step > 0
        self.sigterm.exit_if_noted(self.step, is_saved)

    def _refuse(self, what: str, step: int) -> None:
        raise InputError(
            f"{what} at step {step}; the last checkpoint is kept. Lower the "
            "learning rate or lengthen the warm-up."
        )

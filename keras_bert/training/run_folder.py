"""The folder of a run: how it is opened, resumed and written."""

import contextlib
import dataclasses
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.io.paths import is_remote
from keras_bert.io.whole_files import atomic_path, remove, whole_folder
from keras_bert.training.best import SCORE_FILE, best_of, is_better
from keras_bert.training.checkpoint import (
    WeightFilter,
    checkpoint_of_step,
    every_weight,
    latest_step,
    step_folder,
    write_weights,
)
from keras_bert.training.distribution import is_chief, value_of_chief
from keras_bert.training.fingerprint import FINGERPRINT_FILE, Fingerprint

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFolder:
    """The folder from which a run resumes; only one worker writes to it.

    Attributes:
        path: A folder for `checkpoints/`, `best/`, `history.csv` and
            `tensorboard/`.
        strategy: The strategy of the run.
        sidecars: The text files to save beside the weights of each checkpoint.
        fingerprint: All that determines the result. A run resumes only from
            checkpoints with the same fingerprint.
        weight_filter: A function of a weight's path that returns whether
            checkpoints contain the weight. All other weights must get their
            values when the network is built.
        starts_over: Whether to remove what an earlier run left.
        sources: The folders that the run reads its initial weights and its
            teacher from. Starting over must not remove them.
    """

    path: Path
    strategy: tf.distribute.Strategy
    sidecars: Mapping[str, str]
    fingerprint: Fingerprint
    weight_filter: WeightFilter = every_weight
    starts_over: bool = False
    sources: Sequence[Path] = ()

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        return self.path / "best"

    @property
    def is_written(self) -> bool:
        """Whether this process writes the files."""
        return is_chief(self.strategy)

    @contextlib.contextmanager
    def only_writer(self) -> Iterator[None]:
        """Locks the folder until the end of the context or of the process.

        A store, such as S3, and some network file systems have no locks; there,
        nothing is checked.

        Raises InputError if another process has locked the folder.
        """
        if not (self.is_written and fcntl) or is_remote(self.path):
            yield
            return
        is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InputError(
                    f"Another process is training in {self.path}; wait until "
                    "it ends, or give another output_dir."
                ) from error
            except OSError:
                pass  # The file system has no locks.
            yield
        finally:
            os.close(handle)
            if is_new:  # a refused run leaves no folder
                with contextlib.suppress(OSError):
                    self.path.rmdir()

    def last_step(self) -> int:
        """Returns the step of the last checkpoint, or 0.

        With `starts_over`, the earlier run is removed first.
        """
        if self.starts_over and self.is_written:
            folder = os.path.realpath(self.path)
            for source in self.sources:
                if Path(os.path.realpath(source)).is_relative_to(folder):
                    raise InputError(
                        f"The run reads weights from {source}, which "
                        "overwrite_output_dir would remove; give another "
                        "output_dir."
                    )
            for name in ("checkpoints", "best", "history.csv"):
                remove(self.path / name)
        step = latest_step(self.checkpoints) if self.is_written else 0
        return value_of_chief(self.strategy, step)

    def checkpoint_of(self, step: int) -> Path | None:
        """Returns the checkpoint of the step `step`; None for step 0.

        Raises InputError if the folder contains another run.
        """
        if step:
            checkpoint = checkpoint_of_step(self.checkpoints, step)
            self.fingerprint.check_is_that_of(checkpoint, self.path)
            return checkpoint
        # A result without checkpoints is removed: the same run makes it again.
        if self.is_written:
            best = whole_folder(self.best)
            if best.is_dir():
                self.fingerprint.check_is_that_of(best, self.path)
                remove(best)
            # Results of an earlier run could be mistaken for this run's.
            for name in ("eval_results.json", "predictions.jsonl"):
                remove(self.path / name)
        return None

    def early_end(self, step: int) -> Path:
        """Returns the path of the file that says that a callback ended a run.

        The file exists if a callback ended the run at this step.
        """
        return step_folder(self.checkpoints, step) / "early_end.json"

    def check_is_writable(self) -> None:
        # A read-only folder is noticed now, not after hours.
        if self.is_written:
            with atomic_path(self.path / ".writable") as path:
                path.touch()
            remove(self.path / ".writable")

    def texts(self) -> dict[str, str]:
        """Returns the text files to save: the sidecars and the fingerprint."""
        return {**self.sidecars, FINGERPRINT_FILE: self.fingerprint.to_json()}

    def keep_if_best(
        self,
        model: keras.Model,
        step: int,
        metrics: Mapping[str, float],
        metric: str,
    ) -> None:
        """Writes the weights to `best/` if they beat all earlier weights.

        `metric` is the name of the metric that decides.
        """
        score, loss = metrics[metric], metrics.get("loss")
        # Even if the loss is not finite, the predicted labels may be right.
        is_sound = loss is None or math.isfinite(loss)
        before = best_of(self.best)
        if self.is_written and is_sound and is_better(score, loss, before):
            since = before["since"] if score == before["score"] else step
            score_or_none = None if math.isnan(score) else score
            best = {"step": step, "score": score_or_none, "since": since}
            best |= {} if loss is None else {"loss": loss}
            self.write_best(model, best)

    def write_best(self, model: keras.Model, best: Mapping[str, Any]) -> None:
        """Writes the weights to `best/`; `best` is as `best_of` returns it."""
        texts = {**self.texts(), SCORE_FILE: json.dumps(best) + "\n"}
        write_weights(model, self.best, texts, self.weight_filter)

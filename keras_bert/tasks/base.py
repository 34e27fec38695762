"""The description of a data set to fine-tune on."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Task:
    """A data set: how to read it, and what a model must answer.

    Attributes:
        kind: The kind of answer, which is the name of a kind of your own or one
            of these. "classification": one of `labels`. "multilabel": any
            number of `labels`. "regression": a number. "multiple_choice": one
            of several endings. "token_classification": one of `labels` for each
            word. "span": a part of a text that answers a question. "embedding":
            a vector.
        text_fields: The fields of a row that the model reads. In most kinds,
            they are one text, or the two texts of a pair. "multiple_choice": a
            text and a list of endings. "token_classification": a list of words.
            "span": the question and the context. "embedding": a text, a text of
            similar meaning, and any number of texts of different meaning; the
            last of these fields may be absent, but then from all rows. The
            inputs of the served model have the names of these fields.
        metrics: The names of the kind's metrics, most important first.
        read: A function that takes the data folder (a pathlib.Path, or a UPath
            for a URL) and the name of a split. It returns or yields rows, each
            a dict with the text fields and "label", which a test set lacks. It
            raises FileNotFoundError if the split has no file. Training calls
            the function more than once, and takes the rows one at a time. The
            label depends on the kind. "classification": one of `labels`.
            "multilabel": a list of labels. "regression": a number.
            "multiple_choice": the 0-based index of the right ending, as a
            string. "token_classification": a list with a label for each word.
            "span": a list of answers, each a dict with "text" and
            "answer_start" (in characters); the list is empty if there is no
            answer. "embedding": no label, a number that is the similarity of
            two texts, or a list of numbers that is the vector of a text.
        labels: The names of the labels, in the order of their ids.
        settings: The settings of the kind that differ from its defaults.
        validation_splits: The splits to evaluate on; the score on the first
            split decides which checkpoint is best.
        test_files: For each split without labels, the name of the file for its
            predictions.

    Example:
        >>> from keras_bert.tasks import readers
        >>> task = keras_bert.Task(
        ...     kind="classification",
        ...     text_fields=("question", "passage"),
        ...     labels=("false", "true"),
        ...     metrics=("accuracy",),
        ...     read=readers.jsonl(
        ...         train="train.jsonl", validation="val.jsonl"
        ...     ),
        ... )
    """

    kind: str
    text_fields: tuple[str, ...]
    metrics: tuple[str, ...]
    read: Callable[[Path, str], Iterable[Row]]
    labels: tuple[str, ...] = ()
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    validation_splits: tuple[str, ...] = ("validation",)
    test_files: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {"test": "test_predictions.tsv"}
    )

    def __post_init__(self) -> None:
        for name in ("text_fields", "labels", "metrics", "validation_splits"):
            names = getattr(self, name)
            is_list = isinstance(names, (tuple, list))
            if not is_list or not all(isinstance(x, str) for x in names):
                raise InputError(
                    f"The {name} of the task are {names!r}; give a tuple of "
                    'strings, such as ("a", "b") or ("a",).'
                )
            if name in ("metrics", "validation_splits") and not names:
                raise InputError(f"The task has no {name}; give at least one.")
        for name in ("settings", "test_files"):
            if not isinstance(values := getattr(self, name), Mapping):
                raise InputError(
                    f"The {name} of the task are {values!r:.80}; give a dict."
                )
        if not callable(self.read):
            raise InputError(
                f"The task's read is {self.read!r}; give a function, such as "
                "the result of keras_bert.tasks.readers.tsv(...)."
            )
        for file in self.test_files.values():
            if Path(file).suffix == ".jsonl":
                raise InputError(
                    f"test_files contains {file}, but the test predictions are "
                    "written as TSV, with JSON lines in a .jsonl file of the "
                    f"same name; write {Path(file).with_suffix('.tsv')}."
                )
        stems = [Path(file).stem for file in self.test_files.values()]
        if len({"predictions", *stems}) <= len(stems):
            raise InputError(
                f"The names of test_files {list(self.test_files.values())}, "
                "without their endings, must differ from each other and from "
                "'predictions'."
            )

    def training_rows(self, data_dir: str | Path, limit: int) -> list[Row]:
        """Returns the first `limit` rows of the training split."""
        rows = self.read(to_path(data_dir), "train")
        return list(itertools.islice(rows, limit))

    def validation_rows(self, data_dir: str | Path) -> list[Row]:
        """Returns the rows of the first validation split."""
        return list(self.read(to_path(data_dir), self.validation_splits[0]))

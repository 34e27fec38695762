"""Files of the CoNLL shared tasks: one word and its tag per line.

CoNLL-2003 (Tjong Kim Sang and De Meulder 2003) labels names of four types.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.readers import Reader, read_lines, reader

# The line number and the columns of each word.
Sentence = list[tuple[int, list[str]]]


def conll(
    *,
    train: str,
    validation: str,
    test: str | None = None,
    labels: Sequence[str],
    word_column: int = 0,
    tag_column: int = -1,
) -> Reader:
    """Returns a reader of files whose columns are separated by spaces or tabs.

    A blank line or a line with `-DOCSTART-` ends a row. A row has `words` and,
    if the file has more than one column, `label`, a tag for each word. If
    `labels` include tags with B-, a tag with I- at the beginning of an entity,
    as in IOB1, is read as the tag with B-.
    """

    def row(path: Path, sentence: Sentence) -> Row:
        num_columns = len(sentence[0][1])
        if num_columns == 1:
            return {"words": [columns[0] for _, columns in sentence]}
        for column in (word_column, tag_column):
            if not -num_columns <= column < num_columns:
                raise InputError(
                    f"{path} has {num_columns} columns and no column {column}; "
                    "check word_column and tag_column of the task."
                )
        tags: list[str] = []
        for number, columns in sentence:
            tag = columns[tag_column]
            is_first = not tags or tags[-1][2:] != tag[2:]
            begin = f"B-{tag[2:]}"  # not a label in IOE
            if tag.startswith("I-") and is_first and begin in labels:
                tag = begin
            if tag not in labels:
                raise InputError(
                    f"Line {number} of {path} has the tag "
                    f"{columns[tag_column]!r}, but the task has the labels "
                    f"{', '.join(labels)}; check both."
                )
            tags.append(tag)
        words = [columns[word_column] for _, columns in sentence]
        return {"words": words, "label": tags}

    return reader(
        lambda path, labeled: (row(path, x) for x in _sentences(path)),
        {"train": train, "validation": validation, "test": test},
    )


def _sentences(path: Path) -> Iterator[Sentence]:
    sentence: Sentence = []
    num_columns = 0
    for number, line in enumerate(read_lines(path), 1):
        # Not str.split: a word may contain another kind of space.
        columns = re.split(r"[ \t]+", line.strip(" \t\r"))
        if columns[0] in ("", "-DOCSTART-"):
            if sentence:
                yield sentence
            sentence = []
        else:
            num_columns = num_columns or len(columns)
            if len(columns) != num_columns:
                raise InputError(
                    f"Line {number} of {path} has {len(columns)} columns, but "
                    f"others have {num_columns}; check its spaces and tabs."
                )
            sentence.append((number, columns))
    if sentence:
        yield sentence


_NAMES = ("PER", "ORG", "LOC", "MISC")
_LABELS = ("O", *(f"{part}-{name}" for name in _NAMES for part in "BI"))
TASKS = {
    "ner/conll2003": Task(
        kind="token_classification",
        text_fields=("words",),
        labels=_LABELS,
        metrics=("f1", "precision", "recall", "accuracy"),
        read=conll(
            train="train.txt",
            validation="valid.txt",
            test="test.txt",
            labels=_LABELS,
        ),
        # The test set has labels, so it is scored too.
        validation_splits=("validation", "test"),
        test_files={},
    ),
}

"""Choice of an ending: SWAG (Zellers et al. 2018), CODAH (Chen et al. 2019).

An ending continues a text. The text is the first segment and the ending the
second.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_bert.tasks import readers
from keras_bert.tasks.base import Row, Task
from keras_bert.tasks.readers import Reader

_ENDINGS = [f"ending{i}" for i in range(4)]


def _row(columns: Row) -> Row:
    """Returns a row; a start that all endings share precedes each ending."""
    start = f"{columns['start']} " if "start" in columns else ""
    row = {
        "context": columns["context"],
        "endings": [start + columns[ending] for ending in _ENDINGS],
    }
    return row | {x: columns[x] for x in ("label",) if x in columns}


def _read_swag(data_dir: Path, split: str) -> Iterator[Row]:
    return map(_row, _read_swag_files(data_dir, split))


_read_swag_files = readers.csv(
    columns={
        "context": "sent1",
        "start": "sent2",
        **{name: name for name in (*_ENDINGS, "label")},
    },
    train="train.csv",
    validation="val.csv",
    test="test.csv",
)


def _read_codah(data_dir: Path, split: str) -> Iterator[Row]:
    """Yields the rows of a split; a checksum of the context chooses the split.

    CODAH is a single file. About a fifth of it is the validation set. All rows
    with the same context are in the same split.
    """

    def is_in_split(columns: Row) -> bool:
        checksum = zlib.crc32(columns["context"].encode("utf-8"))
        return (checksum % 5 == 0) == (split == "validation")

    return map(_row, filter(is_in_split, _read_codah_file(data_dir, split)))


_read_codah_file = readers.tsv(
    columns={
        name: i for i, name in enumerate(("context", *_ENDINGS, "label"), 1)
    },
    header=False,
    train="codah.tsv",
    validation="codah.tsv",
)


def _task(read: Reader, **options: Any) -> Task:
    return Task(
        kind="multiple_choice",
        text_fields=("context", "endings"),
        metrics=("accuracy",),
        read=read,
        **options,
    )


TASKS = {
    "swag": _task(_read_swag),
    "codah": _task(_read_codah, test_files={}),
}

"""Choice of an ending: SWAG (Zellers et al. 2018), CODAH (Chen et al. 2019).

An ending continues a text. The text is the first segment and the ending the
second.
"""

import zlib

from keras_bert.tasks import readers
from keras_bert.tasks.base import Task

_ENDINGS = [f"ending{i}" for i in range(4)]


def _read_swag(data_dir, split):
    return map(_swag_row, _read_swag_files(data_dir, split))


def _swag_row(columns):
    """Puts the beginning of the second sentence before each ending."""
    row = {
        "context": columns["sent1"],
        "endings": [f"{columns['sent2']} {columns[e]}" for e in _ENDINGS],
    }
    if "label" in columns:
        row["label"] = columns["label"]
    return row


_read_swag_files = readers.csv(
    columns={name: name for name in ("sent1", "sent2", *_ENDINGS, "label")},
    train="train.csv",
    validation="val.csv",
    test="test.csv",
)


def _read_codah(data_dir, split):
    """Splits the one file of CODAH by a checksum of the text to continue.

    About a fifth is the validation set. All questions about the same text are
    in the same split.
    """

    def is_in_split(columns):
        checksum = zlib.crc32(columns["context"].encode("utf-8"))
        return (checksum % 5 == 0) == (split == "validation")

    return (
        {
            "context": columns["context"],
            "endings": [columns[e] for e in _ENDINGS],
            "label": columns["label"],
        }
        for columns in _read_codah_file(data_dir, split)
        if is_in_split(columns)
    )


_read_codah_file = readers.tsv(
    columns={
        "context": 1,
        **{ending: i for i, ending in enumerate(_ENDINGS, 2)},
        "label": 6,
    },
    header=False,
    train="codah.tsv",
    validation="codah.tsv",
)

_EXAMPLES = (
    {
        "context": "The dog jumped over the fence.",
        "endings": [
            "The dog ran away.",
            "The dog is a movie.",
            "The dog was over.",
            "The dog read it.",
        ],
        "label": "0",
    },
    {
        "context": "It was a bad film.",
        "endings": [
            "The film barked.",
            "The film was quick.",
            "The film was over soon.",
            "The film jumped.",
        ],
        "label": "2",
    },
)
TASKS = {
    "swag": Task(
        kind="multiple_choice",
        text_fields=("context", "endings"),
        metrics=("accuracy",),
        read=_read_swag,
        examples=_EXAMPLES,
    ),
    "codah": Task(
        kind="multiple_choice",
        text_fields=("context", "endings"),
        metrics=("accuracy",),
        read=_read_codah,
        test_files={},
        examples=_EXAMPLES,
    ),
}

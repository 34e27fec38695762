"""GLUE (Wang et al. 2018), from the official folders."""

from keras_bert.tasks import readers
from keras_bert.tasks.base import Task

_FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}

TASKS = {
    "glue/cola": Task(
        head="classification",
        text_fields=("sentence",),
        labels=("0", "1"),
        metrics=("matthews", "accuracy"),
        read=readers.tsv(
            **_FILES,
            columns={"sentence": 3, "label": 1},
            header=False,
            test_columns={"sentence": "sentence"},
        ),
        examples=(
            {"sentence": "The dog is good.", "label": "1"},
            {"sentence": "Dog the good is.", "label": "0"},
        ),
    ),
    "glue/mrpc": Task(
        head="classification",
        text_fields=("sentence1", "sentence2"),
        labels=("0", "1"),
        metrics=("f1", "accuracy"),
        read=readers.tsv(
            **_FILES,
            columns={
                "sentence1": "#1 String",
                "sentence2": "#2 String",
                "label": "Quality",
            },
        ),
        examples=(
            {
                "sentence1": "The dog jumped.",
                "sentence2": "A dog was jumping.",
                "label": "1",
            },
            {
                "sentence1": "The fox is lazy.",
                "sentence2": "The movie was bad.",
                "label": "0",
            },
        ),
    ),
    "glue/sst2": Task(
        head="classification",
        text_fields=("sentence",),
        labels=("0", "1"),
        metrics=("accuracy",),
        read=readers.tsv(
            **_FILES, columns={"sentence": "sentence", "label": "label"}
        ),
        examples=(
            {"sentence": "a very good film", "label": "1"},
            {"sentence": "a bad movie", "label": "0"},
        ),
    ),
}

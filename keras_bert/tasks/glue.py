"""GLUE (Wang et al. 2018), from the official folders.

The text fields are named as in tensorflow-datasets, the files of predictions
as the GLUE server wants them, all in one zip file.
"""

import dataclasses
from pathlib import Path

from keras_bert.tasks import readers
from keras_bert.tasks.base import Task


def _task(
    file_name,
    columns,
    *examples,
    head="classification",
    labels=(),
    metrics=("accuracy",),
    value_range=Task.value_range,
    **options,
):
    """A task with one train.tsv, dev.tsv and test.tsv.

    The examples have their texts in the order of the columns, then the label.
    """
    return Task(
        head=head,
        text_fields=tuple(field for field in columns if field != "label"),
        labels=labels,
        metrics=metrics,
        read=readers.tsv(
            columns=columns,
            train="train.tsv",
            validation="dev.tsv",
            test="test.tsv",
            **options,
        ),
        test_files={"test": file_name},
        value_range=value_range,
        examples=_examples(columns, examples),
    )


def _examples(columns, examples):
    return tuple(dict(zip(columns, x, strict=True)) for x in examples)


def _read_mnli(data_dir, split):
    folder = Path(data_dir)
    if split == "diagnostic" and not (folder / "diagnostic.tsv").is_file():
        # Where the official download script puts it; older ones beside MNLI.
        folder = folder.parent / "diagnostic"
    return _MNLI_FILES(folder, split)


_NO_YES = ("0", "1")
_ENTAILMENT = ("entailment", "not_entailment")
_SENTENCE_PAIR = {
    "sentence1": "sentence1",
    "sentence2": "sentence2",
    "label": "label",
}
_MNLI_COLUMNS = {
    "premise": "sentence1",
    "hypothesis": "sentence2",
    "label": "gold_label",
}
_MNLI = Task(
    head="classification",
    text_fields=("premise", "hypothesis"),
    labels=("contradiction", "entailment", "neutral"),
    metrics=("accuracy",),
    read=_read_mnli,
    validation_splits=("validation_matched", "validation_mismatched"),
    test_files={
        "test_matched": "MNLI-m.tsv",
        "test_mismatched": "MNLI-mm.tsv",
        "diagnostic": "AX.tsv",
    },
    examples=_examples(
        _MNLI_COLUMNS,
        [
            ("The dog jumped over the fox.", "The dog moved.", "entailment"),
            ("The film was good.", "The film was bad.", "contradiction"),
            ("The dog is brown.", "The dog is lazy.", "neutral"),
        ],
    ),
)


_MNLI_FILES = readers.tsv(
    columns=_MNLI_COLUMNS,
    train="train.tsv",
    validation_matched="dev_matched.tsv",
    validation_mismatched="dev_mismatched.tsv",
    test_matched="test_matched.tsv",
    test_mismatched="test_mismatched.tsv",
    diagnostic="diagnostic.tsv",
)

_TASKS = {
    "glue/cola": _task(
        "CoLA.tsv",
        {"sentence": 3, "label": 1},
        ("The dog is good.", "1"),
        ("Dog the good is.", "0"),
        labels=_NO_YES,
        metrics=("matthews", "accuracy"),
        header=False,
        test_columns={"sentence": "sentence"},
    ),
    "glue/sst2": _task(
        "SST-2.tsv",
        {"sentence": "sentence", "label": "label"},
        ("a very good film", "1"),
        ("a bad movie", "0"),
        labels=_NO_YES,
    ),
    "glue/mrpc": _task(
        "MRPC.tsv",
        {
            "sentence1": "#1 String",
            "sentence2": "#2 String",
            "label": "Quality",
        },
        ("The dog jumped.", "A dog was jumping.", "1"),
        ("The fox is lazy.", "The movie was bad.", "0"),
        labels=_NO_YES,
        metrics=("f1", "accuracy"),
    ),
    "glue/qqp": _task(
        "QQP.tsv",
        {
            "question1": "question1",
            "question2": "question2",
            "label": "is_duplicate",
        },
        ("Is the film good?", "Is it a good film?", "1"),
        ("Is the film good?", "Is the dog lazy?", "0"),
        labels=_NO_YES,
        metrics=("f1", "accuracy"),
        # Some questions of the official train.tsv and dev.tsv have a line
        # break in them, which leaves pieces of lines.
        leave_out_broken=True,
    ),
    "glue/stsb": _task(
        "STS-B.tsv",
        {
            "sentence1": "sentence1",
            "sentence2": "sentence2",
            "label": "score",
        },
        ("The dog jumped.", "A dog was jumping.", "4.800"),
        ("The fox is lazy.", "The movie was bad.", "0.200"),
        head="regression",
        metrics=("pearson", "spearman"),
        value_range=(0.0, 5.0),
    ),
    "glue/mnli": _MNLI,
    # No data to train on: for models of glue/mnli.
    "glue/ax": dataclasses.replace(
        _MNLI,
        metrics=("matthews", "accuracy"),
        # The gold labels are in another file than what is handed in.
        read=readers.tsv(
            columns={
                "premise": "Premise",
                "hypothesis": "Hypothesis",
                "label": "Label",
            },
            test_columns=_MNLI_COLUMNS,
            validation="diagnostic-full.tsv",
            test="diagnostic.tsv",
        ),
        validation_splits=("validation",),
        test_files={"test": "AX.tsv"},
    ),
    "glue/qnli": _task(
        "QNLI.tsv",
        {"question": "question", "sentence": "sentence", "label": "label"},
        ("Was the fox quick?", "The fox was quick.", "entailment"),
        ("Was the fox quick?", "The fox was brown.", "not_entailment"),
        labels=_ENTAILMENT,
    ),
    "glue/rte": _task(
        "RTE.tsv",
        _SENTENCE_PAIR,
        ("The quick dog jumped.", "The dog is quick.", "entailment"),
        ("The quick dog jumped.", "The dog is lazy.", "not_entailment"),
        labels=_ENTAILMENT,
    ),
    "glue/wnli": _task(
        "WNLI.tsv",
        _SENTENCE_PAIR,
        ("The fox saw the dog, and it jumped.", "The dog jumped.", "1"),
        ("The fox saw the dog, and it jumped.", "The film jumped.", "0"),
        labels=_NO_YES,
    ),
}
TASKS = {
    name: dataclasses.replace(task, tfds_name=name)
    for name, task in _TASKS.items()
}

"""Every kind: trained, saved, loaded, exported and asked."""

import json
import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bert
from keras_bert.errors import InputError
from keras_bert.kinds.registry import KINDS, known_kinds
from keras_bert.kinds.text_kind import TextKind
from keras_bert.predict.served_model import ServedModel

NEXT = ["is_next", "random"]
# Of each kind: a row without its label, two labels, and what `fit` needs.
ROWS = {
    "classification": ({"text": "a good film"}, ["no", "yes"]),
    "multilabel": ({"text": "a good film"}, [["a"], ["a", "b"]]),
    "regression": ({"text": "a good film"}, [0.5, 2.0]),
    "reranker": ({"query": "the fox", "document": "a dog"}, [0.0, 1.0]),
    "next_sentence": ({"text": "the fox", "next_text": "a dog"}, NEXT),
    "token_classification": (
        {"words": ["the", "lazy", "dog"]},
        [["O", "O", "B-X"], ["O", "O", "O"]],
    ),
    "span": (
        {"question": "what is lazy", "context": "the lazy dog jumped"},
        [[{"text": "dog", "answer_start": 9}]] * 2,
    ),
    "multiple_choice": (
        {"context": "the fox", "endings": ["jumped over", "was bad"]},
        [0, 1],
    ),
    "embedding": ({"a": "the fox", "b": "the dog", "c": "a film"}, None),
    "notebook": ({"text": "a good film"}, [0.5, 2.0]),
    "size": ({"text": "a good film"}, [0.5, 2.0]),
}
LABELS = {
    "classification": ("no", "yes"),
    "multilabel": ("a", "b"),
    "next_sentence": tuple(NEXT),
    "token_classification": ("O", "B-X"),
}
SETTINGS = {"span": {"max_query_length": 4, "doc_stride": 4}}
# As it stands in a cell: its settings are `KindSettings`, its labels floats,
# and its answer has no score.
NOTEBOOK = """
class Size(TextKind):
    name = "notebook"
    main_part = "size"
    metrics = {"closeness": lambda gold, found: -np.abs(gold - found).mean()}
    objectives = {"size": keras_bert.training.Objective(error)}
    hub = keras_bert.kinds.HubNames(
        heads=(keras_bert.checkpoints.HeadNames("size"),)
    )

    def build_network(self, bert_config):
        encoder = keras_bert.models.build_encoder(bert_config)
        size = keras.layers.Dense(1, name="size", dtype="float32")(
            encoder.output["pooled_output"]
        )
        return keras.Model(encoder.input, {"size": size[:, 0]})

    def gold(self, rows):
        return np.array([float(row["label"]) for row in rows], "float32")

    def predicted(self, answers):
        return np.array([answer["size"] for answer in answers])

    def served_answer(self, outputs):
        return {"size": FACTOR * outputs["size"]}
"""


def _define(source=NOTEBOOK, **names):
    """Runs a cell of a notebook, which has no file; returns its class."""
    cell = {
        "__name__": "a_notebook",
        "FACTOR": 2,
        "error": lambda gold, size: (gold - size) ** 2,
        "keras": keras,
        "keras_bert": keras_bert,
        "np": np,
        "TextKind": TextKind,
    } | names
    exec(source, cell)
    return cell["Size"]


def _contribute():
    """Runs the kind that CONTRIBUTING shows."""
    page = Path(__file__).parents[2] / "CONTRIBUTING.md"
    (source,) = re.findall(
        r"## Adding a kind.*?```python\n(.*?)```", page.read_text(), re.DOTALL
    )
    exec(source, {"__name__": "a_contribution"})


@pytest.fixture
def own_kinds(monkeypatch):
    for name in ("notebook", "size"):
        monkeypatch.setitem(KINDS, name, None)  # and removed at the end
        del KINDS[name]
    return {"notebook": _define, "size": _contribute}


def test_no_kind_is_missing():
    ours = {x for x, y in known_kinds().items() if _is_ours(y)}
    assert ours == ROWS.keys() - {"notebook", "size"}


def _is_ours(kind):
    return kind.__module__.startswith("keras_bert.")


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "name",
    [
        name
        if name == "notebook"
        else pytest.param(name, marks=pytest.mark.slow)
        for name in ROWS
    ],
)
def test_trained_saved_loaded_exported_and_asked(
    name, own_kinds, checkpoint, tmp_path
):
    if name in own_kinds:
        own_kinds[name]()
    row, labels = ROWS[name]
    rows = [
        {x: y + " ." * i if isinstance(y, str) else y for x, y in row.items()}
        for i in range(4)
    ]
    if labels:
        rows = [x | {"label": labels[i % 2]} for i, x in enumerate(rows)]
    kind = known_kinds()[name]
    task = keras_bert.Task(
        kind=name,
        text_fields=tuple(row),
        labels=LABELS.get(name, ()),
        metrics=("triplet_accuracy",)
        if name == "embedding"
        else tuple(kind.metrics)[:1],
        read=lambda folder, split: rows[:2] if split == "validation" else rows,
        settings={"max_seq_length": 12, **SETTINGS.get(name, {})},
        test_files={},
    )
    config = keras_bert.FinetuningConfig(
        num_train_epochs=1, train_batch_size=2, learning_rate=0.01
    )
    keras_bert.finetune(
        task, tmp_path, tmp_path / "run", checkpoint=checkpoint, config=config
    )
    model = keras_bert.load_finetuned(tmp_path / "run")
    (expected,) = model.predict([row])
    model.save(tmp_path / "saved")
    (answer,) = keras_bert.load_finetuned(tmp_path / "saved").predict([row])
    assert answer == expected
    tf.config.run_functions_eagerly(False)
    model.export(tmp_path / "served")
    signature = "serving_default"
    if name == "token_classification":  # as `predict` of words
        signature = "words"
    served = ServedModel(tmp_path / "served", signature)
    (answer,) = served.answer([{x: row[x] for x in served.inputs}])
    if name == "embedding":
        (expected,) = model.predict([{"a": row["a"]}])
    shared = answer.keys() & expected.keys()
    assert shared > {"truncated", "num_tokens"}
    assert _rounded(answer, shared) == _rounded(expected, shared)


def _rounded(answer, names):
    text = json.dumps({x: answer[x] for x in names}, sort_keys=True)
    return json.loads(text, parse_float=lambda x: round(float(x), 3))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    metrics =",
            "    metric =",
            "defines metric, which looks like a misspelled metrics; write",
        ),
        ("main_part =", "main_parts =", "write main_part"),
        ("hub =", "head_names =", "hub = HubNames"),
        ("    metrics =", "    _metrics =", "has no metrics; define it"),
        ("def gold(", "def _gold(", "The kind Size has no gold; define it"),
        (
            "    metrics =",
            '    label_dtype = "int32"\n    metrics =',
            "has label_dtype, which is no longer used",
        ),
    ],
)
def test_what_a_class_lacks(old, new, message, own_kinds):
    with pytest.raises(InputError, match=message):
        _define(NOTEBOOK.replace(old, new))


@pytest.mark.usefixtures("eagerly")
def test_a_method_that_is_missing_when_it_is_used(
    own_kinds, config, vocab_file
):
    kind = _define(NOTEBOOK.replace("def build_network", "def _network"))
    spec = keras_bert.kinds.TaskSpec("notebook", ("text",), kind.Settings())
    made = kind(spec, keras_bert.BertTokenizer(vocab_file))
    with pytest.raises(InputError, match="Size has no build_network"):
        made.build_model(config)

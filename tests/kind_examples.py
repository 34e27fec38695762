"""Builds kinds of tasks with a small vocabulary."""

import functools
import tempfile
from pathlib import Path

import keras
import numpy as np

from keras_bert.config import BertConfig
from keras_bert.export.finetuned import export_finetuned
from keras_bert.kinds.kind import Kind, TaskSpec
from keras_bert.kinds.registry import get_kind
from keras_bert.kinds.spec import build_kind
from keras_bert.predict.served_model import ServedModel
from keras_bert.text.tokenizer import BertTokenizer

TEXT_FIELDS = {
    "classification": ("text",),
    "multilabel": ("text",),
    "regression": ("text",),
    "multiple_choice": ("context", "endings"),
    "token_classification": ("words",),
    "span": ("question", "context"),
    "embedding": ("anchor", "positive", "negative"),
    "next_sentence": ("text", "next_text"),
    "reranker": ("query", "document"),
}


def make_spec(name, *, text_fields=None, labels=(), metrics=(), **settings):
    return TaskSpec(
        kind=name,
        text_fields=text_fields or TEXT_FIELDS[name],
        settings=get_kind(name).Settings(**{"max_seq_length": 12, **settings}),
        labels=labels,
        metrics=metrics,
    )


def make_kind(
    name, vocab_file, config: BertConfig, *, do_lower_case=True, **spec
) -> Kind:
    """Returns one object for equal arguments: its graphs are traced once."""
    vocab = Path(vocab_file).read_text(encoding="utf-8")
    spec = make_spec(name, **spec)
    return _make_kind(get_kind(name), spec, vocab, config, do_lower_case)


@functools.lru_cache(maxsize=4)  # a kind keeps the graphs of its calls
def _make_kind(kind, spec, vocab, config, do_lower_case):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocab.txt"
        file.write_text(vocab, encoding="utf-8")
        tokenizer = BertTokenizer(file, do_lower_case)
    return build_kind(spec, tokenizer, config)


def export(model: keras.Model, kind: Kind, export_dir: Path) -> Path:
    """Exports a model, and returns the folder of its version."""
    return export_finetuned(
        model,
        kind,
        export_dir,
        bert_config=BertConfig.from_name("bert_tiny"),
        training={},
    )


def assert_answers(outputs, answers, atol=1e-5):
    """Compares the numbers that a signature returns with answers to rows."""
    assert outputs.keys() == answers[0].keys()
    for name, values in outputs.items():
        expected = [answer[name] for answer in answers]
        np.testing.assert_allclose(values, expected, atol=atol)


def serve(
    model: keras.Model,
    kind: Kind,
    folder: Path,
    signature: str = "serving_default",
) -> ServedModel:
    """Exports a model and loads its SavedModel."""
    export(model, kind, folder / "served")
    return ServedModel(folder / "served", signature)

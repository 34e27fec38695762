"""Served models name the right place in a text with invalid UTF-8.

`test_signatures` asks a model of each kind whether its answers are valid.
"""

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import export, make_kind

from keras_bert.predict.served_model import ServedModel

pytestmark = pytest.mark.slow

# A byte that never occurs, a character that is cut, half of a pair, a zero.
_INVALID = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f", b"\0"]


def _texts():
    words = "the quick fox un aff able Élan 狐 film".encode().split()
    texts = []
    for bad in _INVALID:
        texts += [
            b" ".join(words[:3]) + bad + b" ".join(words[3:]),
            bad.join(words),
            (b" " + bad + b" ").join(words),
            bad,
        ]
    return texts


@pytest.fixture
def call(config, vocab_file, tmp_path):
    def call(name, *columns, **spec):
        kind = make_kind(name, vocab_file, config, **spec)
        model = kind.build_model(config)
        randomize(model)
        if name == "token_classification":  # so that there are entities
            model.get_layer("token_classifier").bias.assign([-9.0, 2.0, 2.0])
        version = export(model, kind, tmp_path / "served")
        served = tf.saved_model.load(str(version))
        serve = served.signatures["serving_default"]
        inputs = ServedModel(tmp_path / "served").inputs
        inputs = dict(zip(inputs, map(tf.constant, columns), strict=True))
        return {name: x.numpy() for name, x in serve(**inputs).items()}

    return call


def _strings(outputs):
    """Decodes the strings of all outputs; fails if one is not UTF-8."""
    strings = [x.ravel() for x in outputs.values() if x.dtype == object]
    return [value.decode() for value in np.concatenate(strings)]


def test_the_answers_of_a_span(call):
    contexts = _texts()
    outputs = call(
        "span",
        contexts[::-1],
        contexts,
        doc_stride=3,
        max_query_length=4,
        max_answer_length=30,
    )
    assert any(_strings(outputs))
    # Characters are counted in the text without the invalid bytes.
    for context, text, start, end in zip(
        contexts,
        outputs["answer"],
        outputs["start"],
        outputs["end"],
        strict=True,
    ):
        valid = context.decode(errors="ignore")
        assert " ".join(valid[start:end].split()) == text.decode()


def test_the_entities_of_a_text(call):
    texts = _texts()
    outputs = call("token_classification", texts, labels=("O", "B-X", "I-X"))
    assert sum(map(bool, _strings(outputs))) > len(texts)
    entities = zip(
        *(outputs[f"entities.{name}"] for name in ("text", "start", "end")),
        strict=True,
    )
    for text, row in zip(texts, entities, strict=True):
        valid = text.decode(errors="ignore")
        for part, start, end in zip(*row, strict=True):
            assert valid[start:end] == part.decode()

"""The signatures of the SavedModel of each kind."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize, write_vocab
from exported_models import largest_difference
from kind_examples import export, make_kind

from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.predict.served_model import ServedModel

_LONG = "the quick brown fox jumped over the lazy dog " * 2
_LABELS = ("bad", "good", "größer")
# A byte that never occurs, a character that is cut, half of a pair, a zero.
_INVALID = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf0\x9f", b"\0"]
# The labels, and rows of which the second one has a long text.
_KINDS = {
    "classification": (_LABELS, [{"text": "a film"}, {"text": _LONG}]),
    "multilabel": (_LABELS, [{"text": "a film"}, {"text": _LONG}]),
    "regression": ((), [{"text": "a film"}, {"text": _LONG}]),
    "multiple_choice": (
        (),
        [
            {"context": "a film", "endings": ["good", "not bad"]},
            {"context": "a dog", "endings": [_LONG, "fox"]},
            {"context": "a dog", "endings": ["?", "!", "fox", "is bad"]},
        ],
    ),
    "span": (
        (),
        [
            {"question": "a film", "context": _LONG},
            {"question": _LONG, "context": "a dog"},
        ],
    ),
    "token_classification": (
        ("O", "B-A", "I-A"),
        [{"text": "a film"}, {"text": _LONG}],
    ),
}
# With [CLS] and [SEP]. A question may have 4 tokens. A text of 20 tokens has 3
# windows of 12 tokens; a context of 20 tokens has 5 windows of a question of 2
# tokens with up to 7 of its own.
_NUM_TOKENS = {
    "classification": [4, 12],
    "multilabel": [4, 12],
    "regression": [4, 12],
    "multiple_choice": [6 + 7, 12 + 6, 6 + 6 + 6 + 7],
    "span": None,
    "token_classification": [4, 36],
}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(x, marks=[] if x == "classification" else pytest.mark.slow)
        for x in _KINDS
    ],
)
def exported(request, config, tmp_path_factory):
    """The name of a kind, a model, its rows, and the served model twice."""
    name = request.param
    labels, rows = _KINDS[name]
    folder = tmp_path_factory.mktemp(name)
    settings = {"max_query_length": 4, "doc_stride": 3}
    kind = make_kind(
        name,
        write_vocab(folder),
        config,
        labels=labels,
        **(settings if name == "span" else {}),
    )
    keras.utils.set_random_seed(1)
    model = kind.build_model(config)
    randomize(model)
    if name == "token_classification":  # so that there are entities
        model.get_layer("token_classifier").bias.assign([-9.0, 2.0, 2.0])
    version = export(model, kind, folder / "served")
    loaded = tf.saved_model.load(str(version))
    with pytest.MonkeyPatch.context() as patch:  # loading takes seconds
        patch.setattr(tf.saved_model, "load", lambda *_: loaded)
        served = ServedModel(version)
    yield name, FinetunedModel(model, kind, config), rows, served, loaded


def _as_inputs(rows):
    return {name: tf.constant([row[name] for row in rows]) for name in rows[0]}


def test_a_served_model_answers_as_predict_does(exported):
    name, finetuned, rows, served_model, _ = exported
    # A request may have what a data set may not: another number of endings.
    answers = [x for row in rows for x in finetuned.predict([row])]
    is_cut = name != "token_classification"
    assert [x["truncated"] for x in answers[:2]] == [False, is_cut]
    served = served_model.answer(rows)
    for answer in answers:
        answer.pop("nbest", None)
    assert largest_difference(answers, served) < 1e-5
    if expected := _NUM_TOKENS[name]:
        assert [answer["num_tokens"] for answer in answers] == expected


def test_tf_examples_get_the_same_answers(exported):
    name, _, rows, _, loaded = exported
    rows = rows[:2]  # two lists of two endings
    examples = []
    for row in rows:
        example = tf.train.Example()
        for key, value in row.items():
            texts = [value] if isinstance(value, str) else value
            example.features.feature[key].bytes_list.value.extend(
                text.encode() for text in texts
            )
        examples.append(example.SerializeToString())
    expected = loaded.signatures["serving_default"](**_as_inputs(rows))
    found = loaded.signatures["serve_examples"](examples=tf.constant(examples))
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_array_equal(found[key], values)
    classifies = name in ("classification", "multilabel")
    assert ("classify" in loaded.signatures) == classifies
    if classifies:
        outputs = loaded.signatures["classify"](inputs=tf.constant(examples))
        classes = outputs["classes"].numpy().tolist()
        assert classes == [[x.encode() for x in _LABELS]] * 2
        np.testing.assert_array_equal(outputs["scores"], expected["scores"])
    regresses = name == "regression"
    assert ("regress" in loaded.signatures) == regresses
    if regresses:
        outputs = loaded.signatures["regress"](inputs=tf.constant(examples))
        np.testing.assert_array_equal(outputs["outputs"], expected["score"])


# A part of a text in an answer, and its place.
_PARTS = {
    "span": ("answer", "start", "end"),
    "token_classification": (
        "entities.text",
        "entities.start",
        "entities.end",
    ),
}


def test_invalid_utf8_is_answered_with_valid_utf8(exported):
    """A server cannot write other answers as JSON.

    Characters are counted in the text without the invalid bytes.
    """
    name, _, rows, _, loaded = exported
    words = "the quick fox un aff able Élan 狐 film".encode().split()
    texts = []
    for bad in _INVALID:
        texts += [b" ".join([*words[:3], words[3] + bad, *words[4:]]), bad]
        texts += [bad.join(words), (b" " + bad + b" ").join(words)]
    *others, last = rows[0]
    inputs = dict.fromkeys(others, tf.constant(texts[::-1]))
    inputs[last] = tf.constant(texts)
    if name == "multiple_choice":
        inputs["endings"] = tf.constant([[x, x[::-1]] for x in texts])
    outputs = loaded.signatures["serving_default"](**inputs)
    for values in outputs.values():
        if values.dtype == tf.string:
            for value in values.numpy().ravel():
                value.decode()
    parts = [outputs[x].numpy() for x in _PARTS.get(name, ())]
    for text, *row in zip(texts, *parts, strict=name in _PARTS):
        valid = text.decode(errors="ignore")
        for part, start, end in zip(*map(np.atleast_1d, row), strict=True):
            piece = valid[start:end]
            # Of a span, the white space is made single.
            piece = " ".join(piece.split()) if name == "span" else piece
            assert piece == part.decode()
    if parts:
        assert np.sum(parts[0] != b"") > len(texts) / 2


def test_ids_get_the_outputs_of_the_network(exported):
    name, finetuned, _, _, loaded = exported
    ids = np.array([[2, 5, 9, 3, 7, 3, 0], [2, 6, 3, 8, 3, 0, 0]], "int32")
    features = {
        "input_ids": ids,
        "input_mask": (ids > 0).astype("int32"),
        "segment_ids": np.array([[0] * 4 + [1] * 3] * 2, "int32"),
    }
    served = features
    if name == "multiple_choice":  # one row with two choices
        served = {key: x[None] for key, x in features.items()}
        positions = np.broadcast_to(np.arange(7, dtype="int32"), (1, 2, 7))
        features = served | {
            "position_ids": positions,
            "cls_positions": np.zeros((1, 2, 1), "int32"),
        }
    expected = finetuned.model(features)
    outputs = loaded.signatures["serve_ids"](
        **{key: tf.constant(x) for key, x in served.items()}
    )
    assert outputs.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(outputs[key], values, atol=1e-5)

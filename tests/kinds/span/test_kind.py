import dataclasses
import gzip
import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from span_examples import span_head, span_row, span_spec

from keras_bert.kinds.base import build_head
from keras_bert.kinds.span.decoding import best_answers, decode_windows
from keras_bert.tasks.squad import read_squad
from keras_bert.text.packing import pad


@pytest.fixture(params=["squad_v1", "squad_v2"])
def golden(shared, request):
    folder = shared / "golden" / request.param
    settings = json.loads((folder / "settings.json").read_text())
    has_null = settings.pop("version_2_with_negative")
    head = span_head(
        shared / "data" / "vocab" / "bert-base-uncased.vocab.txt",
        answers_may_be_missing=has_null,
        **settings,
    )
    rows = read_squad(folder / "input.json", answers_may_be_missing=has_null)
    return folder, head, rows


def test_what_is_learned_is_what_the_reference_learns(golden):
    folder, head, rows = golden
    examples = head.encode(rows, labeled=True)
    expected = json.loads((folder / "train_positions.json").read_text())
    assert [rows[i]["id"] for i in examples.rows] == [
        window["qas_id"] for window in expected
    ]
    for name, key in (
        ("start_logits", "start_position"),
        ("end_logits", "end_position"),
    ):
        positions = [window[key] for window in expected]
        assert examples.labels[name].numpy().tolist() == positions


def test_answers_are_those_of_the_reference(golden):
    """It takes the logits of padding for candidates too."""
    folder, head, rows = golden
    windows = head.encode(rows, labeled=False).windows
    stored = np.load(folder / "features_and_logits.npz")
    logits = stored["start_logits"], stored["end_logits"]
    settings = {"spec": head.spec, "unk_id": head.tokenizer.unk_id}
    contexts = [row["context"] for row in rows]
    answers = decode_windows(contexts, windows, *logits, **settings)
    in_graph = best_answers(
        tf.constant(contexts), windows, *map(tf.constant, logits), **settings
    )

    def read(name):
        data = (folder / name).read_bytes()
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        values = json.loads(data)
        return [values[row["id"]] for row in rows]

    predictions = read("predictions.json")
    assert [answer["prediction"] for answer in answers] == predictions
    texts = [text.decode() for text in in_graph["answer"].numpy()]
    assert texts == predictions
    for answer, expected in zip(
        answers, read("nbest_predictions.json.gz"), strict=True
    ):
        found = answer["nbest"]
        assert [x["text"] for x in found] == [x["text"] for x in expected]
        for key in ("probability", "start_logit", "end_logit"):
            assert [x[key] for x in found] == pytest.approx(
                [x[key] for x in expected], abs=1e-5
            )
    if head.spec.answers_may_be_missing:
        null_odds = read("null_odds.json")
        for found in (
            [answer["null_odds"] for answer in answers],
            in_graph["null_odds"].numpy(),
        ):
            assert found == pytest.approx(null_odds, abs=1e-5)
    for name, key in (("start", "start"), ("end", "end"), ("score", "score")):
        np.testing.assert_allclose(
            in_graph[name], [answer[key] for answer in answers], atol=1e-5
        )


def test_the_loss_is_the_mean_of_both_outputs(vocab_file):
    objectives = span_head(vocab_file).objectives
    logits = np.log(np.array([[0.2, 0.5, 0.3]], "float32"))
    loss = sum(
        float(objectives[name].loss(np.array([label]), logits)[0])
        for name, label in (("start_logits", 1), ("end_logits", 2))
    )
    assert loss == pytest.approx(-(np.log(0.5) + np.log(0.3)) / 2)


_TEXTS = [
    ("the fox", "the quick brown fox jumped over " * 4 + "the lazy dog!"),
    ("is a", "\n"),
    ("not very good", "a Dog jumps ! is  \t a m\u00f3vie \u00e9e"),
    ("", "a film, a (do\u0301g) is not unaffable"),
]


@pytest.mark.parametrize("may_be_missing", [False, True])
def test_a_saved_model_answers_the_same(
    vocab_file, config, tmp_path, may_be_missing
):
    head = build_head(
        span_spec(answers_may_be_missing=may_be_missing), vocab_file, config
    )
    model = head.build_model(config)
    randomize(model)
    rows = [{"question": q, "context": c} for q, c in _TEXTS]
    examples = head.encode(rows, labeled=False)
    assert np.bincount(examples.rows).tolist() == [9, 1, 2, 2]
    outputs = model(pad(examples.features))
    outputs = {name: list(x.numpy()) for name, x in outputs.items()}
    answers = head.decode(rows, examples, outputs)
    if may_be_missing:  # some are given and some are not
        odds = sorted(a["null_odds"] for a in answers)
        head.spec = dataclasses.replace(
            head.spec, null_score_diff_threshold=(odds[1] + odds[2]) / 2
        )
        answers = head.decode(rows, examples, outputs)
    given = [bool(answer["prediction"]) for answer in answers]
    assert sum(given) == (2 if may_be_missing else 3)

    function, specs = head.signatures(model)["serving_default"]
    module = tf.Module()
    module.tracked = model, head
    serve = tf.function(function, input_signature=specs, autograph=False)
    path = str(tmp_path / "saved")
    tf.saved_model.save(module, path, {"serving_default": serve})
    serve = tf.saved_model.load(path).signatures["serving_default"]
    served = serve(
        question=tf.constant([q for q, _ in _TEXTS]),
        # A byte that is no UTF-8 is dropped, and counts for nothing.
        context=tf.constant([b"\xff" + c.encode() for _, c in _TEXTS]),
    )
    assert {name: x.dtype for name, x in served.items()} == {
        "answer": tf.string,
        "score": tf.float32,
        "start": tf.int32,
        "end": tf.int32,
        "null_odds": tf.float32,
    }
    assert [text.decode() for text in served["answer"].numpy()] == [
        answer["prediction"] for answer in answers
    ]
    for name in ("score", "start", "end", "null_odds"):
        np.testing.assert_allclose(
            served[name], [answer[name] for answer in answers], atol=1e-5
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": 5}, "The context of question q1 is 5; give a string"),
        ({"question": None}, "The question of question q1 is None"),
        ({"label": "dog"}, "The label of question q1 is 'dog'; give a list"),
        ({"label": [{"text": "dog"}]}, "The label of question q1 is"),
        ({"label": [{"answer_start": 2}]}, "The label of question q1 is"),
    ],
)
def test_bad_rows_are_named(vocab_file, change, message):
    row = span_row("a dog", "dog", id="q1")
    with pytest.raises(ValueError, match=message):
        span_head(vocab_file).encode([row, row | change], labeled=True)


def test_missing_fields_are_named(vocab_file):
    row = span_row("a dog", "dog")
    for field in ("question", "context", "label"):
        rows = [row, {k: v for k, v in row.items() if k != field}]
        with pytest.raises(ValueError, match=f"2 has no field '{field}'"):
            span_head(vocab_file).encode(rows, labeled=True)


@pytest.mark.parametrize("name", ["n_best_size", "max_answer_length"])
def test_sizes_below_one_are_refused(vocab_file, name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        span_head(vocab_file, **{name: 0})

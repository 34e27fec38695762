import gzip
import json

import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import serve
from span_examples import change_settings, span_kind, span_row

from keras_bert.errors import InputError
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.span.decoding import Decoder
from keras_bert.tasks.squad import read_squad


@pytest.fixture(params=["squad_v1", "squad_v2"])
def golden(shared, request):
    folder = shared / "golden" / request.param
    settings = json.loads((folder / "settings.json").read_text())
    has_null = settings.pop("version_2_with_negative")
    kind = span_kind(
        shared / "data" / "vocab" / "bert-base-uncased.vocab.txt",
        answers_may_be_missing=has_null,
        **settings,
    )
    rows = read_squad(folder / "input.json", answers_may_be_missing=has_null)
    return folder, kind, rows


def test_the_labels_are_those_of_the_reference(golden):
    folder, kind, rows = golden
    examples = kind.encode(rows, labeled=True)
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
    """The reference takes the logits of padding for candidates too."""
    folder, kind, rows = golden
    windows = kind.encode(rows, labeled=False).tokens
    stored = np.load(folder / "features_and_logits.npz")
    logits = stored["start_logits"], stored["end_logits"]
    settings = {
        "settings": kind.spec.settings,
        "unk_id": kind.tokenizer.unk_id,
    }
    contexts = [row["context"] for row in rows]
    answers = Decoder(windows, *logits, **settings).answers(contexts)
    decoder = Decoder(windows, *map(tf.constant, logits), **settings)
    in_graph = decoder.best_answers(tf.constant(contexts))

    def read(name):
        data = (folder / name).read_bytes()
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        values = json.loads(data)
        return [values[row["id"]] for row in rows]

    predictions = read("predictions.json")
    assert [answer["answer"] for answer in answers] == predictions
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
    if kind.spec.settings.answers_may_be_missing:
        null_odds = read("null_odds.json")
        for found in (
            [answer["null_odds"] for answer in answers],
            in_graph["null_odds"].numpy(),
        ):
            assert found == pytest.approx(null_odds, abs=1e-5)
    for name in ("start", "end", "score"):
        np.testing.assert_allclose(
            in_graph[name], [answer[name] for answer in answers], atol=1e-5
        )


def test_the_loss_is_the_mean_of_both_outputs(vocab_file):
    objectives = span_kind(vocab_file).objectives
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


@pytest.mark.slow  # test_signatures asks a model of each kind
def test_the_served_model_leaves_out_what_predict_leaves_out(
    vocab_file, config, tmp_path
):
    fields = ("query", "page")
    kind = span_kind(
        vocab_file, text_fields=fields, answers_may_be_missing=True
    )
    model = kind.build_model(config)
    randomize(model)
    rows = [dict(zip(fields, texts, strict=True)) for texts in _TEXTS]
    examples = kind.encode(rows, labeled=False)
    assert np.bincount(examples.rows).tolist() == [9, 1, 2, 2]
    finetuned = FinetunedModel(model, kind, config)
    # A threshold between the null odds.
    odds = sorted(answer["null_odds"] for answer in finetuned.predict(rows))
    change_settings(kind, null_score_diff_threshold=sum(odds[1:3]) / 2)
    answers = finetuned.predict(rows)
    assert [bool(answer["answer"]) for answer in answers].count(True) == 2

    served = serve(model, kind, tmp_path)
    assert served.inputs == fields
    for answer, expected in zip(served.answer(rows), answers, strict=True):
        del expected["nbest"]
        for name in ("score", "null_odds"):
            expected[name] = pytest.approx(expected[name], abs=1e-5)
        assert answer == expected


def test_fields_may_have_any_names(vocab_file):
    row = span_row("the lazy dog", "lazy dog")
    row |= {"query": row.pop("question"), "page": row.pop("context")}
    kind = span_kind(vocab_file, text_fields=("query", "page"))
    labels = kind.encode([row], labeled=True).labels.values()
    assert [x.numpy().tolist() for x in labels] == [[5], [6]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "dog"}, "The label of question q1 is 'dog'; give a list"),
        ({"label": [{"text": "dog"}]}, "The label of question q1 is"),
        ({"label": [{"answer_start": 2}]}, "The label of question q1 is"),
    ],
)
def test_bad_rows_are_named(vocab_file, change, message):
    row = span_row("a dog", "dog", id="q1")
    with pytest.raises(InputError, match=message):
        span_kind(vocab_file).encode([row, row | change], labeled=True)


def test_a_missing_label_is_named(vocab_file):
    row = span_row("a dog", "dog")
    rows = [row, {"question": "a", "context": "a dog"}]
    with pytest.raises(InputError, match="2 has no field 'label'"):
        span_kind(vocab_file).encode(rows, labeled=True)


def test_a_training_row_without_an_answer_needs_the_setting(vocab_file):
    rows = [span_row("a dog", "dog"), span_row("a fox", id="q2")]
    with pytest.raises(InputError, match="Question q2 has no answer; remove"):
        span_kind(vocab_file).settings_from_data(rows)
    kind = span_kind(vocab_file, answers_may_be_missing=True)
    assert kind.settings_from_data(rows) == {}

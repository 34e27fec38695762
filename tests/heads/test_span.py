import dataclasses
import gzip
import json

import numpy as np
import pytest
import tensorflow as tf
from absl import logging
from conftest import randomize

from keras_bert.heads import build_head
from keras_bert.heads.span import SpanHead
from keras_bert.heads.span_decoding import best_answers, decode_windows
from keras_bert.heads.spec import TaskSpec
from keras_bert.tasks.squad import read_squad
from keras_bert.text.packing import pad
from keras_bert.text.tokenizer import BertTokenizer


def _spec(**changes):
    values = {
        "head": "span",
        "labels": (),
        "text_fields": ("question", "context"),
        "max_seq_length": 14,
        "do_lower_case": True,
        "doc_stride": 3,
        "max_query_length": 4,
        "max_answer_length": 5,
        "n_best_size": 6,
        **changes,
    }
    return TaskSpec(**values)


def _head(vocab_file, **changes):
    spec = _spec(**changes)
    return SpanHead(spec, BertTokenizer(vocab_file, spec.do_lower_case))


def _row(context, *answers, question="the fox", **fields):
    label = [{"text": t, "answer_start": context.find(t)} for t in answers]
    return {"question": question, "context": context, "label": label, **fields}


def _logits(examples, starts, ends, null=-5.0):
    """Of each window, 5 at its start and its end (where not 0), and at 0."""
    outputs = {"start_logits": starts, "end_logits": ends}
    for name, positions in outputs.items():
        outputs[name] = []
        for length, position in zip(examples.lengths, positions, strict=True):
            logits = np.full(length, -9.0, "float32")
            logits[0] = null
            if position > 0:
                logits[position] = 5.0
            outputs[name].append(logits)
    return outputs


def _gold_logits(examples):
    return _logits(examples, *(x.numpy() for x in examples.labels.values()))


@pytest.fixture(params=["squad_v1", "squad_v2"])
def golden(shared, request):
    folder = shared / "golden" / request.param
    settings = json.loads((folder / "settings.json").read_text())
    has_null = settings.pop("version_2_with_negative")
    head = _head(
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


def test_positions_to_learn(vocab_file, monkeypatch):
    lost = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *args: lost.append(text % args)
    )
    rows = [
        # Of "jumps", which has two pieces, only the answer's is learned.
        _row("a  dog jumps over", "dog jump"),
        # In the first window, in both, in none of them.
        _row("the the the the the the the dog a a a a", "dog", "the"),
        _row("the " * 11, "the " * 10 + "the"),
        _row("a dog"),  # no answer
        {
            **_row("a dog is a dog", id="q5"),
            "label": [{"text": "fox", "answer_start": 2}],
        },
        # Off by a few, but within its words; its white space is another.
        {
            **_row("not a-good-dog."),
            "label": [{"text": "good", "answer_start": 4}],
        },
        _row("not\ta\n dog .", "a\n dog"),
        # The word is of other pieces than the answer: all of it is learned.
        _row("unaffable dog", "unaff"),
    ]
    rows[-1]["label"][0]["text"] = "naff"
    examples = _head(vocab_file).encode(rows, labeled=True)
    starts, ends = (x.numpy().tolist() for x in examples.labels.values())
    assert list(zip(examples.rows.tolist(), starts, ends, strict=True)) == [
        (0, 5, 7 - 1),
        (1, 11, 11),
        (1, 8, 8),
        (2, 0, 0),
        (2, 0, 0),
        (3, 0, 0),
        (4, -1, -1),
        (5, 7, 7),
        (6, 5, 6),
        (7, 4, 6),
    ]
    assert lost == [
        "1 of 8 answers do not stand where the data says and are not learned; "
        "the first is 'fox' to question q5."
    ]
    _, labels, weights = examples.batch(np.arange(10))
    for name in ("start_logits", "end_logits"):
        assert weights[name].numpy().tolist() == [1.0] * 6 + [0.0] + [1.0] * 3
        assert labels[name].numpy().min() == 0


def test_the_loss_is_the_mean_of_both_outputs(vocab_file):
    objectives = _head(vocab_file).objectives
    logits = np.log(np.array([[0.2, 0.5, 0.3]], "float32"))
    loss = sum(
        float(objectives[name].loss(np.array([label]), logits)[0])
        for name, label in (("start_logits", 1), ("end_logits", 2))
    )
    assert loss == pytest.approx(-(np.log(0.5) + np.log(0.3)) / 2)


def test_the_threshold_decides_whether_there_is_an_answer(vocab_file):
    rows = [_row("a quick  fox", "quick  fox", id=7)]
    head = _head(vocab_file)
    examples = head.encode(rows, labeled=True)
    outputs = _logits(examples, [5], [6], null=6.0)
    expected = {
        "prediction": "quick fox",
        "score": 10.0,
        "start": 2,
        "end": 12,
        "null_odds": 2.0,
        "text": "quick fox",
    }
    for may_be_missing, threshold, is_given in (
        (False, 0.0, True),
        (True, 2.0, True),
        (True, 1.9, False),
    ):
        head.spec = _spec(
            answers_may_be_missing=may_be_missing,
            null_score_diff_threshold=threshold,
            n_best_size=2,
        )
        (answer,) = head.decode(rows, examples, outputs)
        n_best = answer.pop("nbest")
        texts = [x["text"] for x in n_best]
        assert texts == [""] * may_be_missing + ["quick fox"]
        if not is_given:
            expected |= {"prediction": "", "start": 0, "end": 0}
        assert answer == expected


def test_there_always_is_an_answer_where_there_is_a_token(vocab_file):
    """The best start is behind the best end, and only one of each counts."""
    rows = [_row("a quick brown fox"), _row(" \u200b"), _row("")]
    head = _head(vocab_file, n_best_size=1)
    examples = head.encode(rows, labeled=True)
    outputs = _logits(examples, [7, 0, 0], [4, 0, 0])
    outputs["end_logits"][0][6] = -3.0
    for may_be_missing in (False, True):
        head.spec = _spec(n_best_size=1, answers_may_be_missing=may_be_missing)
        answers = head.decode(rows, examples, outputs)
        # 5 - 9, as for "a", which comes first.
        assert [a["prediction"] for a in answers] == ["a", "", ""]
        assert [a["score"] for a in answers] == [-4.0, 0.0, 0.0]
        assert [a["null_odds"] for a in answers] == [-6.0, -10.0, -10.0]
        n_best = [[x["text"] for x in a["nbest"]] for a in answers]
        assert n_best == [["a", ""] if may_be_missing else ["a"], [""], [""]]


def test_padding_is_no_candidate(vocab_file):
    rows = [_row("a dog jumped", "dog"), _row("the fox", "fox")]
    head = _head(vocab_file, n_best_size=2)
    examples = head.encode(rows, labeled=True)
    outputs = _gold_logits(examples)
    expected = head.decode(rows, examples, outputs)
    assert [a["prediction"] for a in expected] == ["dog", "fox"]
    padded = {
        name: [np.append(x, [99.0] * 5) for x in arrays]
        for name, arrays in outputs.items()
    }
    assert head.decode(rows, examples, padded) == expected


@pytest.mark.parametrize(
    ("context", "token", "text"),
    [
        ("is (dog).", "dog", "dog"),
        ("is DOG.fox \u202f\t fox", "dog . fox fox", "DOG.fox fox"),
        ("the jumps over", "##s", "s"),
        # Nothing is known of a word that is unknown.
        ("is dog/film.", "dog [UNK] film", "dog/film."),
        # These letters are not as many as those of the clean text.
        ("is (d\u00f3g).", "dog", "d\u00f3g"),
        ("is (do\u0301g).", "dog", "(do\u0301g)."),
        ("is (dog\u200b fox).", "dog fox", "(dog\u200b fox)."),
        ("is fox\u00a0dog .", "fox", "fox\u00a0dog"),
    ],
)
def test_the_text_of_an_answer(vocab_file, context, token, text):
    """As google-research/bert cuts it out of its words."""
    rows = [_row(context)]
    head = _head(vocab_file, max_seq_length=16)
    examples = head.encode(rows, labeled=True)
    pieces = head.tokenizer.tokens(examples.features["input_ids"][0].numpy())
    token = token.split()
    begins = [i for i in range(4, 16) if pieces[i : i + len(token)] == token]
    outputs = _logits(examples, begins[:1], [begins[0] + len(token) - 1])
    (answer,) = head.decode(rows, examples, outputs)
    assert answer["prediction"] == text
    cut = context[answer["start"] : answer["end"]]
    assert " ".join(cut.replace("\u202f", " ").split(" ")).split() == (
        text.split()
    )


@pytest.mark.parametrize(
    ("context", "text"),
    [
        (
            "서울은 대한민국의 수도이다. 인구는 약 950만 명이며,",
            "950만 명",
        ),
        (
            "القاهرة هي عاصمة جمهورية مصر العربية، وتقع على نهر النيل.",
            "جمهورية مصر العربية",
        ),
    ],
)
def test_korean_and_arabic(shared, context, text):
    head = _head(
        shared / "data" / "vocab" / "bert-base-multilingual-cased.vocab.txt",
        do_lower_case=False,
        max_seq_length=40,
        max_answer_length=30,
    )
    rows = [_row(context, text)]
    examples = head.encode(rows, labeled=True)
    answers = head.decode(rows, examples, _gold_logits(examples))
    assert [a["prediction"] for a in answers] == [text]
    assert context[answers[0]["start"] : answers[0]["end"]] == text


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
        _spec(answers_may_be_missing=may_be_missing), vocab_file, config
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


def _answer(prediction, null_odds=0.0, text=None):
    n_best = [{"text": prediction, "probability": 1.0}]
    return {
        "prediction": prediction,
        "null_odds": null_odds,
        "text": prediction if text is None else text,
        "nbest": n_best,
    }


def test_scores(vocab_file):
    head = _head(vocab_file)
    rows = [_row("a dog", "dog", "a dog"), _row("a lazy fox", "lazy fox")]
    answers = [_answer("the dog"), _answer("", 3.0, text="fox")]
    assert head.score(rows, answers, ("f1", "exact_match")) == {
        "f1": 50.0,
        "exact_match": 50.0,
    }
    rows.append(_row("a film"))
    answers.append(_answer("film", 4.0))
    assert head.score(rows, answers, ("f1",)) == pytest.approx(
        {
            "f1": 100 / 3,
            "HasAns_exact_match": 50.0,
            "HasAns_f1": 50.0,
            "NoAns_exact_match": 0.0,
            "NoAns_f1": 0.0,
            "best_exact_match": 200 / 3,
            "best_exact_match_threshold": 0.0,
            "best_f1": 100 * (1 + 1 + 2 / 3) / 3,
            "best_f1_threshold": 3.0,
        }
    )


def test_files(vocab_file, tmp_path):
    rows = [
        _row("a b", id="q1"),
        _row("the lazy dog", "lazy dog", id="q2"),
        _row("the lazy dog", "lazy dog", id="q3"),
        _row("x " * 40, "x " * 16 + "x"),
    ]
    answers = [_answer("", 1.5), _answer("dog"), _answer("한", 9.0)]
    answers.append(_answer("x " * 17))
    folder = tmp_path / "dev"
    _head(vocab_file).write_reports(folder, rows, answers)
    names = ["nbest_predictions.json", "predictions.json"]
    lengths = ["answer_lengths.png", "answer_lengths.tsv"]
    assert sorted(f.name for f in folder.iterdir()) == lengths + names
    ids = ["q1", "q2", "q3", "4"]
    assert json.loads((folder / names[1]).read_text()) == dict(
        zip(ids, ["", "dog", "한", "x " * 17], strict=True)
    )
    n_best = json.loads((folder / names[0]).read_text())
    assert n_best["q2"] == [{"text": "dog", "probability": 1.0}]
    assert (folder / lengths[1]).read_text() == (
        "words\tquestions\texact_match\tf1\n"
        "0\t1\t100.00\t100.00\n"
        "2\t2\t0.00\t33.33\n"
        "17+\t1\t100.00\t100.00\n"
    )
    without_labels = [{"question": "", "context": ""}] * 4
    folder = tmp_path / "test"
    _head(vocab_file, answers_may_be_missing=True).write_reports(
        folder, without_labels, answers
    )
    assert sorted(f.name for f in folder.iterdir()) == [
        names[0],
        "null_odds.json",
        names[1],
    ]
    null_odds = json.loads((folder / "null_odds.json").read_text())
    assert null_odds == {"1": 1.5, "2": 0.0, "3": 9.0, "4": 0.0}


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
    row = _row("a dog", "dog", id="q1")
    with pytest.raises(ValueError, match=message):
        _head(vocab_file).encode([row, row | change], labeled=True)


def test_missing_fields_are_named(vocab_file):
    row = _row("a dog", "dog")
    for field in ("question", "context", "label"):
        rows = [row, {k: v for k, v in row.items() if k != field}]
        with pytest.raises(ValueError, match=f"2 has no field '{field}'"):
            _head(vocab_file).encode(rows, labeled=True)


@pytest.mark.parametrize("name", ["n_best_size", "max_answer_length"])
def test_sizes_below_one_are_refused(vocab_file, name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        _head(vocab_file, **{name: 0})

import numpy as np
import pytest
from span_examples import (
    change_settings,
    gold_logits,
    span_kind,
    span_row,
    window_logits,
)


def test_no_answer_if_the_null_odds_exceed_the_threshold(vocab_file):
    rows = [span_row("a quick  fox", "quick  fox", id=7)]
    kind = span_kind(vocab_file)
    examples = kind.encode(rows, labeled=True)
    outputs = window_logits(examples, [5], [6], null=6.0)
    expected = {
        "answer": "quick fox",
        "score": 10.0,
        "start": 2,
        "end": 12,
        "null_odds": 2.0,
        "best_answer": "quick fox",
    }
    for may_be_missing, threshold, is_given in (
        (False, 0.0, True),
        (True, 2.0, True),
        (True, 1.9, False),
    ):
        change_settings(
            kind,
            answers_may_be_missing=may_be_missing,
            null_score_diff_threshold=threshold,
            n_best_size=2,
        )
        (answer,) = kind.decode(rows, examples, outputs)
        n_best = answer.pop("nbest")
        texts = [x["text"] for x in n_best]
        assert texts == [""] * may_be_missing + ["quick fox"]
        if not is_given:
            expected |= {"answer": "", "start": 0, "end": 0}
        assert answer == expected


def test_a_context_with_a_token_always_has_an_answer(vocab_file):
    """The best start is after the best end, and only one of each counts."""
    rows = [span_row("a quick brown fox"), span_row(" \u200b"), span_row("")]
    kind = span_kind(vocab_file, n_best_size=1)
    examples = kind.encode(rows, labeled=True)
    outputs = window_logits(examples, [7, 0, 0], [4, 0, 0])
    outputs["end_logits"][0][6] = -3.0
    for may_be_missing in (False, True):
        change_settings(kind, answers_may_be_missing=may_be_missing)
        answers = kind.decode(rows, examples, outputs)
        # 5 - 9, as for "a", which comes first.
        assert [a["answer"] for a in answers] == ["a", "", ""]
        assert [a["score"] for a in answers] == [-4.0, 0.0, 0.0]
        assert [a["null_odds"] for a in answers] == [-6.0, -10.0, -10.0]
        n_best = [[x["text"] for x in a["nbest"]] for a in answers]
        assert n_best == [["a", ""] if may_be_missing else ["a"], [""], [""]]


def test_padding_is_never_an_answer(vocab_file):
    rows = [span_row("a dog jumped", "dog"), span_row("the fox", "fox")]
    # A single token would be found even among the logits of padding.
    rows.append(span_row("the fox", "the fox"))
    kind = span_kind(vocab_file, n_best_size=2)
    examples = kind.encode(rows, labeled=True)
    outputs = gold_logits(examples)
    expected = kind.decode(rows, examples, outputs)
    assert [a["answer"] for a in expected] == ["dog", "fox", "the fox"]
    padded = {
        name: [np.append(x, [99.0] * 5) for x in arrays]
        for name, arrays in outputs.items()
    }
    assert kind.decode(rows, examples, padded) == expected


@pytest.mark.parametrize(
    ("context", "token", "text"),
    [
        ("is (dog).", "dog", "dog"),
        ("is DOG.fox \u202f\t fox", "dog . fox fox", "DOG.fox fox"),
        ("the jumps over", "##s", "s"),
        # Inside an unknown word, no characters can be told apart.
        ("is dog/film.", "dog [UNK] film", "dog/film."),
        # Cleaning changes the number of letters.
        ("is (d\u00f3g).", "dog", "d\u00f3g"),
        ("is (do\u0301g).", "dog", "(do\u0301g)."),
        ("is (dog\u200b fox).", "dog fox", "(dog\u200b fox)."),
        ("is fox\u00a0dog .", "fox", "fox\u00a0dog"),
    ],
)
def test_the_text_of_an_answer(vocab_file, context, token, text):
    """google-research/bert cuts the same text out of its words."""
    rows = [span_row(context)]
    kind = span_kind(vocab_file, max_seq_length=16)
    examples = kind.encode(rows, labeled=True)
    pieces = kind.tokenizer.tokens(examples.features["input_ids"][0].numpy())
    token = token.split()
    begins = [i for i in range(4, 16) if pieces[i : i + len(token)] == token]
    outputs = window_logits(examples, begins[:1], [begins[0] + len(token) - 1])
    (answer,) = kind.decode(rows, examples, outputs)
    assert answer["answer"] == text
    cut = context[answer["start"] : answer["end"]]
    assert " ".join(cut.replace("\u202f", " ").split(" ")).split() == (
        text.split()
    )


def test_korean_and_arabic(shared):
    kind = span_kind(
        shared / "data" / "vocab" / "bert-base-multilingual-cased.vocab.txt",
        do_lower_case=False,
        max_seq_length=40,
        max_answer_length=30,
    )
    contexts = [
        "서울은 대한민국의 수도이다. 인구는 약 950만 명이며,",
        "القاهرة هي عاصمة جمهورية مصر العربية، وتقع على نهر النيل.",
    ]
    texts = ["950만 명", "جمهورية مصر العربية"]
    rows = list(map(span_row, contexts, texts))
    examples = kind.encode(rows, labeled=True)
    answers = kind.decode(rows, examples, gold_logits(examples))
    assert [a["answer"] for a in answers] == texts
    for context, answer in zip(contexts, answers, strict=True):
        assert context[answer["start"] : answer["end"]] == answer["answer"]

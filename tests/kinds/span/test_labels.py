import numpy as np
from absl import logging
from span_examples import span_kind, span_row


def test_the_first_and_the_last_token_of_an_answer(vocab_file, monkeypatch):
    lost = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *args: lost.append(text % args)
    )
    rows = [
        # The answer ends with the first of the two pieces of "jumps".
        span_row("a  dog jumps over", "dog jump"),
        # In the first window; in both windows; in neither as a whole.
        span_row("the the the the the the the dog a a a a", "dog", "the"),
        span_row("the " * 11, "the " * 10 + "the"),
        span_row("a dog"),  # no answer
        {
            **span_row("a dog is a dog", id="q5"),
            "label": [{"text": "fox", "answer_start": 2}],
        },
        # The start is wrong by a few characters, but in the right word.
        {
            **span_row("not a-good-dog."),
            "label": [{"text": "good", "answer_start": 4}],
        },
        # The white space differs.
        span_row("not\ta\n dog .", "a\n dog"),
        span_row("a dog\xa0jumps .", "dog\xa0jumps"),
        # The answer has other pieces than the word: the whole word is learned.
        span_row("unaffable dog", "unaff"),
    ]
    rows[-1]["label"][0]["text"] = "naff"
    examples = span_kind(vocab_file).encode(rows, labeled=True)
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
        (7, 5, 7),
        (8, 4, 6),
    ]
    assert lost == [
        "1 of 9 answers are not at their answer_start, so training skips "
        "them; the first is 'fox', an answer to question q5."
    ]
    _, labels, weights = examples.batch(np.arange(10))
    for name in ("start_logits", "end_logits"):
        assert weights[name].numpy().tolist() == [1.0] * 6 + [0.0] + [1.0] * 3
        assert labels[name].numpy().min() == 0

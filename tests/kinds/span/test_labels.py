import numpy as np
from absl import logging
from span_examples import span_head, span_row


def test_positions_to_learn(vocab_file, monkeypatch):
    lost = []
    monkeypatch.setattr(
        logging, "warning", lambda text, *args: lost.append(text % args)
    )
    rows = [
        # Of "jumps", which has two pieces, only the answer's is learned.
        span_row("a  dog jumps over", "dog jump"),
        # In the first window, in both, in none of them.
        span_row("the the the the the the the dog a a a a", "dog", "the"),
        span_row("the " * 11, "the " * 10 + "the"),
        span_row("a dog"),  # no answer
        {
            **span_row("a dog is a dog", id="q5"),
            "label": [{"text": "fox", "answer_start": 2}],
        },
        # Off by a few, but within its words; its white space is another.
        {
            **span_row("not a-good-dog."),
            "label": [{"text": "good", "answer_start": 4}],
        },
        span_row("not\ta\n dog .", "a\n dog"),
        # The word is of other pieces than the answer: all of it is learned.
        span_row("unaffable dog", "unaff"),
    ]
    rows[-1]["label"][0]["text"] = "naff"
    examples = span_head(vocab_file).encode(rows, labeled=True)
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

"""The text of the demo: the documentation behind Python's `help()`."""

import collections
import re
from pydoc_data.topics import topics

import keras_bert

_NUM_CHAPTERS = 6
_MIN_CHARACTERS = 60


def read_chapters():
    """Returns (text, held-out text, train, held out).

    The texts are sentences a line, with a blank line after each topic; every
    paragraph but the held-out ones is in the first. `train` and `held_out`
    are rows with `paragraph` and `label`, its topic, of the six topics with
    the most paragraphs of their own; each fifth of these is held out.
    """
    paragraphs = {
        topic: [" ".join(p.split()) for p in text.split("\n\n")]
        for topic, text in sorted(topics.items())
    }
    # Topics repeat one another; what stands in two of them has no one label.
    counts = collections.Counter(
        p for texts in paragraphs.values() for p in set(texts)
    )
    own = {
        topic: [
            p for p in texts if counts[p] == 1 and len(p) >= _MIN_CHARACTERS
        ]
        for topic, texts in paragraphs.items()
    }
    chapters = sorted(own, key=lambda topic: -len(own[topic]))[:_NUM_CHAPTERS]
    train, held_out = [], []
    for chapter in sorted(chapters):
        for i, paragraph in enumerate(own[chapter]):
            rows = held_out if i % 5 == 0 else train
            rows.append({"paragraph": paragraph, "label": chapter})
    hidden = {row["paragraph"] for row in held_out}
    text, held_out_text = [], []
    for texts in paragraphs.values():
        text += _sentences(p for p in texts if p not in hidden)
        held_out_text += _sentences(p for p in texts if p in hidden)
    return text, held_out_text, train, held_out


def _sentences(paragraphs):
    for paragraph in paragraphs:
        yield from re.split(r"(?<=[.:;?!]) (?=[A-Z\"“])", paragraph)
    yield ""


def chapter_task(train, held_out):
    """The question from which chapter a paragraph comes."""
    splits = {"train": train, "validation": held_out}

    def read(data_dir, split):
        if split not in splits:
            raise FileNotFoundError(f"the demo has no {split} set")
        return splits[split]

    return keras_bert.Task(
        head="classification",
        text_fields=("paragraph",),
        labels=tuple(sorted({row["label"] for row in train})),
        metrics=("accuracy",),
        read=read,
    )

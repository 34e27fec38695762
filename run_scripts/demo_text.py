"""The demo's text: the documentation that Python's `help()` shows."""

import collections
import re
from pydoc_data.topics import topics

import keras_bert

_NUM_CHAPTERS = 6
_MIN_CHARACTERS = 60


def read_chapters():
    """Returns lines for pre-training and labeled rows for fine-tuning.

    Both are dicts with the keys `train` and `held_out`. A line is a sentence;
    an empty line ends a topic. A row has a `paragraph` and its topic as the
    `label`. The rows come from the six topics with the most paragraphs that
    no other topic repeats. Every fifth of these paragraphs is held out.
    """
    chapters = {
        topic: [" ".join(p.split()) for p in text.split("\n\n")]
        for topic, text in sorted(topics.items())
    }
    rows = _label_paragraphs(chapters)
    held_out = {row["paragraph"] for row in rows["held_out"]}
    lines = {"train": [], "held_out": []}
    for texts in chapters.values():
        lines["train"] += _sentences(p for p in texts if p not in held_out)
        lines["held_out"] += _sentences(p for p in texts if p in held_out)
    return lines, rows


def _label_paragraphs(chapters):
    # A paragraph that two topics share has no single label.
    counts = collections.Counter(
        p for texts in chapters.values() for p in set(texts)
    )
    unique = {
        topic: [
            p for p in texts if counts[p] == 1 and len(p) >= _MIN_CHARACTERS
        ]
        for topic, texts in chapters.items()
    }
    largest = sorted(unique, key=lambda topic: -len(unique[topic]))
    rows = {"train": [], "held_out": []}
    for topic in sorted(largest[:_NUM_CHAPTERS]):
        for i, paragraph in enumerate(unique[topic]):
            split = "held_out" if i % 5 == 0 else "train"
            rows[split].append({"paragraph": paragraph, "label": topic})
    return rows


def _sentences(paragraphs):
    for paragraph in paragraphs:
        yield from re.split(r"(?<=[.:;?!]) (?=[A-Z\"“])", paragraph)
    yield ""


def chapter_task(rows):
    """Returns the task of finding the chapter that a paragraph comes from."""
    splits = {"train": rows["train"], "validation": rows["held_out"]}

    def read(data_dir, split):
        if split not in splits:
            raise FileNotFoundError(f"The demo has no {split} set.")
        return splits[split]

    return keras_bert.Task(
        kind="classification",
        text_fields=("paragraph",),
        labels=tuple(sorted({row["label"] for row in rows["train"]})),
        metrics=("accuracy",),
        read=read,
    )

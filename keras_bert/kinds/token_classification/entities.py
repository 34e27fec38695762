"""Finds the entities that the labels of words make up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from keras_bert.kinds.kind import library_metric
from keras_bert.kinds.reports import write_table


class Entities(NamedTuple):
    """The entities of texts in their order, all [B, (entities)].

    Attributes:
        types: Strings, such as "PER".
        first_words, last_words: The numbers of words in the text, int64.
        scores: The score of the least certain word, float32.
    """

    types: tf.RaggedTensor
    first_words: tf.RaggedTensor
    last_words: tf.RaggedTensor
    scores: tf.RaggedTensor

    def to_list(self) -> list[list[tuple]]:
        """Returns, for each text, a list of (type, first, last, score)."""
        columns = (values.to_list() for values in self)
        return [
            [
                (kind.decode(), *values)
                for kind, *values in zip(*row, strict=True)
            ]
            for row in zip(*columns, strict=True)
        ]


def find_entities(
    label_ids: tf.RaggedTensor,
    scores: tf.RaggedTensor,
    labels: Sequence[str],
) -> Entities:
    """Finds entities as the script conlleval does, even with wrong prefixes.

    An entity begins at B-, or at an I- after O or after another type. A label
    without a prefix counts as an I- of the type that it names.

    Args:
        label_ids: Numbers of labels, [B, (words)].
        scores: The probabilities of the labels, [B, (words)].
        labels: Names such as "O" and "B-PER".
    """
    types = tf.constant([_type_of(name) for name in labels])
    is_begin = tf.constant([name.startswith("B-") for name in labels])
    type_of_word = tf.gather(types, label_ids.values)  # [W], all words
    words = tf.ragged.range(label_ids.row_lengths()).values
    is_inside = type_of_word != ""
    before = tf.concat([[""], type_of_word[:-1]], axis=0)
    is_start = is_inside & (
        tf.gather(is_begin, label_ids.values)
        | (words == 0)
        | (before != type_of_word)
    )
    starts = tf.where(is_start)[:, 0]  # [E], all entities
    entity = tf.cumsum(tf.cast(is_start, tf.int32)) - 1
    entity = tf.boolean_mask(entity, is_inside)
    rows = tf.gather(label_ids.value_rowids(), starts)
    return Entities(
        *(
            tf.RaggedTensor.from_value_rowids(
                values, rows, nrows=label_ids.nrows()
            )
            for values in (
                tf.gather(type_of_word, starts),
                tf.gather(words, starts),
                tf.math.segment_max(tf.boolean_mask(words, is_inside), entity),
                tf.math.segment_min(
                    tf.boolean_mask(scores.values, is_inside), entity
                ),
            )
        )
    )


def write_entity_types(
    file: Path,
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
) -> None:
    """Writes precision, recall and F1 of each type, and of all types."""
    # Late, because this import takes a second.
    from seqeval.metrics.sequence_labeling import get_entities

    found = [
        {
            (kind, row, *place)
            for row, tags in enumerate(_prefixed(rows))
            for kind, *place in get_entities(tags)
        }
        for rows in (gold, predicted)
    ]
    found.append(found[0] & found[1])
    counts = [Counter(kind for kind, *_ in entities) for entities in found]
    columns = "type precision recall f1 gold predicted correct".split()
    lines: list[list] = [columns]
    for kind in [*sorted(counts[0] | counts[1]), "all"]:
        g, p, c = (
            count.total() if kind == "all" else count[kind] for count in counts
        )
        ratios = (c / max(p, 1), c / max(g, 1), 2 * c / max(g + p, 1))
        lines.append([kind, *ratios, g, p, c])
    write_table(file, lines)


def _type_of(label):
    if label == "O":
        return ""
    return label[2:] if label[:2] in ("B-", "I-") else label


def _of_entities(name):
    metric = library_metric("seqeval.metrics", name, zero_division=0)

    def of_tags(gold, predicted):
        return metric(_prefixed(gold), _prefixed(predicted))

    return of_tags


def _prefixed(rows):
    # seqeval needs a prefix.
    return [
        [x if x == "O" or x[:2] in ("B-", "I-") else f"I-{x}" for x in row]
        for row in rows
    ]


# The metrics of the script conlleval, which counts whole entities.
METRICS = {
    "f1": _of_entities("f1_score"),
    "precision": _of_entities("precision_score"),
    "recall": _of_entities("recall_score"),
    # The accuracy counts words.
    "accuracy": library_metric("seqeval.metrics", "accuracy_score"),
}

"""Finds the entities that the labels of words make up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
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
        scores: The score of the least certain word, or the mean, float32.
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
    *,
    mean_score: bool,
) -> Entities:
    """Finds entities as the script conlleval does, even with wrong prefixes.

    An entity begins at B- or S-, after E- or S-, or at another label after O or
    after another type. A label without a prefix counts as an I- of the type
    that it names.

    Args:
        label_ids: Numbers of labels, [B, (words)].
        scores: The probabilities of the labels, [B, (words)].
        labels: Names such as "O" and "B-PER".
        mean_score: Whether the score is the mean, and not the least.
    """
    tags = split_tags(labels)
    places = [tags[name][0] for name in labels]
    types = tf.constant([tags[name][1] for name in labels])
    is_begin = tf.constant([place in "BS" for place in places])
    is_end = tf.constant([place in "ES" for place in places])
    ends_before = tf.concat(
        [[False], tf.gather(is_end, label_ids.values)[:-1]], axis=0
    )
    type_of_word = tf.gather(types, label_ids.values)  # [W], all words
    words = tf.ragged.range(label_ids.row_lengths()).values
    is_inside = type_of_word != ""
    before = tf.concat([[""], type_of_word[:-1]], axis=0)
    is_start = is_inside & (
        tf.gather(is_begin, label_ids.values)
        | ends_before
        | (words == 0)
        | (before != type_of_word)
    )
    starts = tf.where(is_start)[:, 0]  # [E], all entities
    entity = tf.cumsum(tf.cast(is_start, tf.int32)) - 1
    entity = tf.boolean_mask(entity, is_inside)
    rows = tf.gather(label_ids.value_rowids(), starts)
    join_scores = tf.math.segment_mean if mean_score else tf.math.segment_min
    return Entities(
        *(
            tf.RaggedTensor.from_value_rowids(
                values, rows, nrows=label_ids.nrows()
            )
            for values in (
                tf.gather(type_of_word, starts),
                tf.gather(words, starts),
                tf.math.segment_max(tf.boolean_mask(words, is_inside), entity),
                join_scores(tf.boolean_mask(scores.values, is_inside), entity),
            )
        )
    )


def split_tags(tags: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Returns the place in the entity, and the type, of each tag.

    B begins an entity, E ends it, S does both and I neither. The tags E-, S-,
    L- and U- mean this only where all tags but O have such a prefix and one
    begins with B-. The type of O is "".
    """
    tags = set(tags) - {"O"}
    places = {"B-": "B", "I-": "I"}
    more = {**places, "E-": "E", "L-": "E", "S-": "S", "U-": "S"}
    prefixes = {tag[:2] for tag in tags}
    if "B-" in prefixes and prefixes <= more.keys():
        places = more
    found = {
        tag: (places[tag[:2]], tag[2:]) if tag[:2] in places else ("I", tag)
        for tag in tags
    }
    return found | {"O": ("I", "")}


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


def _of_entities(name):
    metric = library_metric("seqeval.metrics", name, zero_division=0)

    def of_tags(gold, predicted):
        return metric(_prefixed(gold), _prefixed(predicted))

    return of_tags


def _prefixed(rows):
    # seqeval needs a prefix, and knows E- and S-.
    tags = {tag: "-".join(x) for tag, x in split_tags(chain(*rows)).items()}
    tags["O"] = "O"
    return [[tags[tag] for tag in row] for row in rows]


# The metrics of the script conlleval, which counts whole entities.
METRICS = {
    "f1": _of_entities("f1_score"),
    "precision": _of_entities("precision_score"),
    "recall": _of_entities("recall_score"),
    # The accuracy counts words.
    "accuracy": library_metric("seqeval.metrics", "accuracy_score"),
}

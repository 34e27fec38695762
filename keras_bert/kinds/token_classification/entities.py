"""Finds the entities that the labels of words make up."""

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


def find_entities(
    label_ids: tf.RaggedTensor,
    scores: tf.RaggedTensor,
    labels: Sequence[str],
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
    places, types = zip(*(tags[name] for name in labels), strict=True)
    is_begin = tf.constant([place in "BS" for place in places])
    is_end = tf.constant([place in "ES" for place in places])
    ids = label_ids.values  # [W], all words
    types = tf.gather(tf.constant(types), ids)
    words = tf.ragged.range(label_ids.row_lengths()).values
    is_inside = types != ""
    is_start = is_inside & (
        tf.gather(is_begin, ids)
        | tf.concat([[False], tf.gather(is_end, ids)[:-1]], axis=0)
        | (words == 0)
        | (types != tf.concat([[""], types[:-1]], axis=0))
    )
    starts = tf.where(is_start)[:, 0]  # [E], all entities
    entity = tf.cumsum(tf.cast(is_start, tf.int32)) - 1
    entity = tf.boolean_mask(entity, is_inside)
    rows = tf.gather(label_ids.value_rowids(), starts)
    join_scores = tf.math.segment_mean if mean_score else tf.math.segment_min
    columns = (
        tf.gather(types, starts),
        tf.gather(words, starts),
        tf.math.segment_max(tf.boolean_mask(words, is_inside), entity),
        join_scores(tf.boolean_mask(scores.values, is_inside), entity),
    )
    return Entities(
        *(
            tf.RaggedTensor.from_value_rowids(x, rows, label_ids.nrows())
            for x in columns
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


def _of_entities(name, **options):
    metric = library_metric("seqeval.metrics", name, zero_division=0, **options)

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
_REPORT = _of_entities("classification_report", output_dict=True)


def write_entity_types(
    file: Path,
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
) -> None:
    """Writes precision, recall and F1 of each type, and of all types."""
    report = _REPORT(gold, predicted)
    report["all"] = report.pop("micro avg")
    lines = [["type", "precision", "recall", "f1", "gold"]]
    for kind, figures in report.items():
        if kind not in ("macro avg", "weighted avg"):
            lines.append([kind, *figures.values()])
    write_table(file, lines)

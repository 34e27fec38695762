"""Finds the entities that the labels of words describe."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf
from absl import logging

from keras_bert.kinds.kind import library_metric
from keras_bert.kinds.reports import write_table

# The prefixes of IOB, IOE, IOBES, BILOU and BMES -> the prefixes of IOBES.
_PLACES = dict(B="B", I="I", M="I", E="E", L="E", S="S", U="S")
# Misspelt tags, such as o, B_PER, b-PER and PER-B.
_MISSPELT = re.compile(r"o|[bi]-.+|[BIbi][_.:/].+|.+[-_.:/][BIbi]")


class Entities(NamedTuple):
    """The entities of texts in text order; all fields are [B, (entities)].

    Attributes:
        types: The types, such as "PER".
        first_words, last_words: The indices of the entity's first and last word
            in the text, int64.
        scores: The lowest or the mean score of the entity's words, float32.
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
    """Returns the entities that the script conlleval finds in labels of words.

    Sequences of labels that break the rules of their scheme are tolerated. A
    new entity begins at each B- or S- label, at a label that follows an E- or
    S- label, and at a label that follows O or a label of another type. A label
    without a prefix, such as "PER", is read as "I-PER".

    Args:
        label_ids: The ids of the labels, [B, (words)].
        scores: The probabilities of the labels, [B, (words)].
        labels: The names of the labels, such as "O" and "B-PER".
        mean_score: Whether the score of an entity is the mean of its words'
            scores instead of their lowest score.
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


def split_tags(labels: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Returns each label's position in an entity and its type, by label.

    The position is "B" if the label begins an entity, "E" if it ends one, "S"
    if it does both and "I" if it does neither. The prefixes B- and I- always
    count as such. The other prefixes of IOE, IOBES, BILOU and BMES, and bare
    tags such as B and I, count only if all labels but O have a prefix of these
    schemes. The type of a bare tag is "_", and the type of O is "".
    """
    tags = [label for label in labels if label != "O"]
    prefixes = {tag.partition("-")[0] for tag in tags}
    places = {"B": "B", "I": "I"}
    if prefixes <= _PLACES.keys() and prefixes & places.keys():
        places = _PLACES
    has_bare = places is _PLACES and "B" in tags and {"I", "M"} & {*tags}
    split = {"O": ("I", "")}
    for tag in tags:
        prefix, dash, kind = tag.partition("-")
        is_known = prefix in places and (dash or has_bare)
        split[tag] = (places[prefix], kind or "_") if is_known else ("I", tag)
    return split


def warn_of_types(labels: Sequence[str]) -> None:
    """Warns if all labels are numbers, or if entity types look misspelt."""
    if all(label.isdecimal() for label in labels):
        logging.warning(
            "The labels are numbers, so each word counts as an entity; give "
            "names such as O and B-PER: [[names[i] for i in tags] for tags in "
            "labels]."
        )
    types = [x for x, (_, kind) in split_tags(labels).items() if x == kind]
    misspelt = [
        x for x in types if _MISSPELT.fullmatch(x) or f"B{x[1:]}" in labels
    ]
    if misspelt:
        logging.warning(
            "The labels %s count as entity types of their own; write tags such "
            "as O, B-PER and I-PER to join words into entities.",
            ", ".join(misspelt),
        )


# The metrics of the script conlleval, which counts whole entities. The tags
# must have the prefixes of IOBES, because seqeval knows no others.
METRICS = {
    name: library_metric("seqeval.metrics", f"{name}_score", zero_division=0)
    for name in ("f1", "precision", "recall")
}
# The accuracy counts words.
METRICS["accuracy"] = library_metric("seqeval.metrics", "accuracy_score")


def write_entity_types(
    folder: Path,
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
) -> None:
    """Writes `entity_types.tsv`: precision, recall and F1 of each type.

    The last line is for all types together.
    """
    # Imported late, because this takes a second.
    from seqeval.metrics import classification_report

    report = classification_report(
        gold, predicted, output_dict=True, zero_division=0
    )
    report["all"] = report.pop("micro avg")
    lines = [["type", "precision", "recall", "f1", "gold"]]
    for kind, metrics in report.items():
        if kind not in ("macro avg", "weighted avg"):
            lines.append([kind, *metrics.values()])
    write_table(folder / "entity_types.tsv", lines)

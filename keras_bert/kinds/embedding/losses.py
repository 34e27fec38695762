"""Losses on text vectors, and the row formats that losses and metrics take.

All losses compare vectors by their cosine. `embeddings` are [B, C, H]: B
examples of C texts each, which are an anchor, its positive and any number of
negatives. If `sizes` are given, a loss is computed for each size n, on the
first n numbers of the vectors, and the losses of all sizes are added (Kusupati
et al. 2022, arXiv 2205.13147, equation 1 with all weights 1).
"""

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.kinds.answers import NEVER
from keras_bert.kinds.embedding.settings import EmbeddingSettings
from keras_bert.kinds.fields import check_text, numbered
from keras_bert.tasks.base import Row
from keras_bert.training.losses import soft_squared_error
from keras_bert.training.objectives import BatchObjective, Objective


def objective(settings: EmbeddingSettings) -> Objective:
    """Returns the objective for the settings' loss, added up over all sizes."""
    if settings.loss == "vector":
        return Objective(vector)
    if settings.loss == "triplet":
        loss = of_all_sizes(triplet, settings.sizes, margin=settings.margin)
        return Objective(loss, soft_loss=_error_of_rows)
    if settings.loss == "cosent":
        loss = of_all_sizes(cosent, settings.sizes, scale=settings.scale)
        return BatchObjective(loss, soft_loss=_error_of_rows)
    sizes, scale = settings.sizes, settings.scale
    return BatchObjective(of_all_sizes(multiple_negatives, sizes, scale=scale))


def of_all_sizes(
    loss: Callable[..., tf.Tensor], sizes: Sequence[int], **options: float
) -> Callable[..., tf.Tensor]:
    """Returns a function that adds the losses of vectors cut to each size."""
    loss = functools.partial(loss, **options)
    if not sizes:
        return loss

    @functools.wraps(loss)
    def total(
        labels: tf.Tensor, embeddings: tf.Tensor, *weights: tf.Tensor
    ) -> tf.Tensor:
        return tf.add_n(
            [loss(labels, embeddings[..., :n], *weights) for n in sizes]
        )

    return total


def multiple_negatives(
    labels: tf.Tensor,
    embeddings: tf.Tensor,
    weights: tf.Tensor,
    *,
    scale: float,
) -> tf.Tensor:
    """Returns a loss that is low if each anchor is nearest to its positive.

    The loss is the cross-entropy of the scaled cosines (Henderson et al. 2017,
    arXiv 1705.00652, section 4), averaged over the anchors. The candidates are
    the positives and the negatives of all rows.

    `labels` [B, C] are ids of the texts, equal for equal texts. A row leaves
    out each candidate whose text is the row's anchor, or the positive of any
    row with the same anchor; the row's own positive always stays. `weights`
    [B, C] are 0 for rows that do not count.
    """
    anchors, positives = labels[:, 0], labels[:, 1]
    candidates = tf.reshape(labels[:, 1:], [-1])  # [M], M = B * (C - 1)
    counts = weights[:, 0] > 0
    num_rows, num_candidates = tf.size(anchors), tf.size(candidates)
    per_row = num_candidates // tf.maximum(num_rows, 1)

    unit = _unit(embeddings)
    size = unit.shape[-1]
    scores = scale * tf.matmul(
        unit[:, 0], tf.reshape(unit[:, 1:], [-1, size]), transpose_b=True
    )  # [B, M]

    same_anchor = _equal(anchors, anchors) & counts[None, :]
    same_anchor = tf.cast(same_anchor, tf.float32)  # [B, B]
    is_positive = tf.cast(_equal(positives, candidates), tf.float32)  # [B, M]
    # Is a candidate the positive of any row with the same anchor?
    left_out = tf.matmul(same_anchor, is_positive) > 0
    left_out |= _equal(anchors, candidates)
    left_out |= ~tf.repeat(counts, per_row)[None, :]
    targets = tf.range(num_rows) * per_row
    is_target = targets[:, None] == tf.range(num_candidates)[None, :]
    scores += NEVER * tf.cast(left_out & ~is_target, tf.float32)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, scores)
    return tf.math.divide_no_nan(
        tf.reduce_sum(weights[:, 0] * losses), tf.reduce_sum(weights[:, 0])
    )


def cosent(
    labels: tf.Tensor,
    embeddings: tf.Tensor,
    weights: tf.Tensor,
    *,
    scale: float,
) -> tf.Tensor:
    """Returns a loss that is low if the cosines are in the order of the labels.

    The loss is log(1 + sum of exp(scale * (cosine_j - cosine_i))) over all
    pairs of rows with label_i > label_j (CoSENT, Su 2022,
    https://kexue.fm/archives/8847).

    `labels` [B] are numbers. `weights` [B] are 0 for rows that do not count.
    """
    scores = scale * _cosines(embeddings)[:, 0]  # [B]
    counts = weights > 0
    is_wrong_order = labels[:, None] > labels[None, :]
    is_wrong_order &= counts[:, None] & counts[None, :]
    differences = tf.where(
        is_wrong_order, scores[None, :] - scores[:, None], NEVER
    )
    # The 0 stands for the 1 in log(1 + ...).
    terms = tf.concat([[0.0], tf.reshape(differences, [-1])], axis=0)
    return tf.reduce_logsumexp(terms)


def triplet(
    labels: tf.Tensor, embeddings: tf.Tensor, *, margin: float
) -> tf.Tensor:
    """Returns losses that are low if the positive is nearer than the negatives.

    The loss [B] is the mean over the negatives of max(0, d(anchor, positive) -
    d(anchor, negative) + margin), where the distance d is 1 - cosine (Schroff
    et al. 2015, arXiv 1503.03832, section 3.1, with another distance).
    """
    cosines = _cosines(embeddings)  # [B, C - 1]
    excess = cosines[:, 1:] - cosines[:, :1] + margin
    return tf.reduce_mean(tf.maximum(excess, 0.0), axis=1)


def vector(labels: tf.Tensor, embeddings: tf.Tensor) -> tf.Tensor:
    """Returns 1 minus the cosine of each vector and its label, [B, C].

    The vectors and the labels are [B, C, H].
    """
    return 1 - tf.reduce_sum(_unit(labels) * _unit(embeddings), axis=-1)


def _error_of_rows(
    teacher: tf.Tensor, vectors: tf.Tensor, temperature: float
) -> tf.Tensor:
    """Returns the mean squared error over the vectors of each row, [B]."""
    return tf.reduce_mean(soft_squared_error(teacher, vectors), axis=1)


def _cosines(embeddings: tf.Tensor) -> tf.Tensor:
    """Returns the cosine of each row's first text with each other text.

    The shape is [B, C - 1].
    """
    unit = _unit(embeddings)
    return tf.reduce_sum(unit[:, :1] * unit[:, 1:], axis=-1)


def _unit(vectors: tf.Tensor) -> tf.Tensor:
    return tf.math.l2_normalize(tf.cast(vectors, tf.float32), axis=-1)


def _equal(rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    return rows[:, None] == columns[None, :]


class RowFormat(NamedTuple):
    """What all rows of a data set have in common.

    Attributes:
        fields: The text fields of the rows: all text fields of the task, or the
            first of them.
        has_label: Whether the rows have a label, a number or a vector.
    """

    fields: tuple[str, ...]
    has_label: bool

    def __str__(self) -> str:
        label = "a label" if self.has_label else "no label"
        return f"the texts {', '.join(self.fields)} and {label}"


class RowRequirements(NamedTuple):
    """The row formats that a loss or a metric takes.

    Attributes:
        words: A description of these formats, for messages.
        num_texts: The numbers of texts that a row may have.
        has_label: Whether the rows must have labels; otherwise, they must have
            none.
    """

    words: str
    num_texts: range
    has_label: bool

    def fit(self, row_format: RowFormat) -> bool:
        has_texts = len(row_format.fields) in self.num_texts
        return has_texts and row_format.has_label == self.has_label

    def check(self, row_format: RowFormat, name: str) -> None:
        """Raises InputError unless the rows have a format that `name` takes."""
        if not self.fit(row_format):
            raise InputError(
                f"The {name} needs rows with {self.words}, but the rows have "
                f"{row_format}; check the task and its reader."
            )


# A row has up to ten texts.
PAIRS = RowRequirements("two or more texts and no label", range(2, 11), False)
SCORED_PAIRS = RowRequirements(
    "two texts and a number as the label", range(2, 3), True
)
TRIPLETS = RowRequirements(
    "three or more texts and no label", range(3, 11), False
)
VECTORS = RowRequirements(
    "one text and a vector as the label", range(1, 2), True
)
# The requirements of each loss and metric, by its name.
REQUIREMENTS = {
    "multiple_negatives": PAIRS,
    "cosent": SCORED_PAIRS,
    "triplet": TRIPLETS,
    "vector": VECTORS,
    "spearman": SCORED_PAIRS,
    "pearson": SCORED_PAIRS,
    "triplet_accuracy": TRIPLETS,
    "cosine": VECTORS,
}


def check_rows(
    rows: Sequence[Row], text_fields: tuple[str, ...], *, labeled: bool
) -> RowFormat:
    """Returns the format that all rows share; there must be at least one row.

    If the rows are not `labeled`, their labels are ignored. Raises InputError
    if a text is wrong, if a row has a text field but lacks an earlier text
    field, or if the rows differ in format.
    """
    first: tuple[int, RowFormat] | None = None
    for number, row in numbered(rows):
        fields = tuple(field for field in text_fields if field in row)
        if not fields or fields != text_fields[: len(fields)]:
            missing = next(field for field in text_fields if field not in row)
            raise InputError(
                f"Example {number} has no field {missing!r}, only "
                f"{', '.join(row)}; a row may leave out only the last of the "
                f"text_fields {', '.join(text_fields)}."
            )
        row_format = RowFormat(fields, labeled and "label" in row)
        first = first or (number, row_format)
        if row_format != first[1]:
            raise InputError(
                f"Example {number} has {row_format}, but example {first[0]} "
                f"has {first[1]}; all rows of a data set must have the same "
                "format."
            )
        for field in fields:
            check_text(row[field], f"The {field} of example {number}")
    assert first is not None, "no rows"
    return first[1]

"""Pairs -> training batches, in which short pairs may share a row."""

from collections.abc import Callable, Mapping

import tensorflow as tf

WRONG_VALUE = "wrong value in records"


def pretraining_batches(
    features: tf.data.Dataset,
    *,
    vocab_size: int,
    outputs: tuple[str, ...],
    packed: bool,
    num_segments: int = 2,
) -> tf.data.Dataset:
    """Returns batches of (features, labels, weights), each of them a dict.

    The labels and the weights are keyed by the names of the outputs.

    Args:
        features: The batches of `PretrainingRecords`.
        vocab_size: The size of the vocabulary. An id in the records that is
            not below `vocab_size`, or a value that the network would read
            wrongly, is an error (see `errors_named`).
        outputs: The trained outputs: "masked_lm", and "next_sentence" or
            "replaced_tokens". With "replaced_tokens", the network also reads
            `masked_lm_ids`.
        packed: Whether several short sequences share a row.
        num_segments: The number of segments of the network. With fewer than 2,
            as in RoBERTa, all tokens belong to the first segment.
    """

    def split(features: dict[str, tf.Tensor]) -> tuple[dict, dict, dict]:
        # These values are not checked in the model: XLA accepts any id, and a
        # position beyond the end of a row would be in the next row.
        limits = {"input_ids": vocab_size, "masked_lm_ids": vocab_size}
        limits["masked_lm_positions"] = features["input_ids"].shape[1]
        if num_segments >= 2:
            limits["segment_ids"] = num_segments
        if "next_sentence" in outputs:
            limits["next_sentence_labels"] = 2
        for name, limit in limits.items():
            x = features[name]
            wrong = tf.boolean_mask(x, (x < 0) | (x >= limit))
            data = [WRONG_VALUE, name, limit, wrong[:1]]
            tf.debugging.Assert(tf.equal(tf.size(wrong), 0), data)
        if packed:
            features = pack_sequences(features)
        mask = tf.cast(features["input_mask"] > 0, tf.int32)
        if num_segments < 2:
            features["segment_ids"] = tf.zeros_like(mask)
        is_next = features.pop("next_sentence_labels")
        if packed:
            next_weights = features.pop("next_sentence_weights")
        else:
            is_next = is_next[:, 0]
            next_weights = tf.ones_like(is_next, tf.float32)
        labels = {
            "masked_lm": features["masked_lm_ids"],
            # A placeholder, because the network computes these labels itself.
            "replaced_tokens": mask,
            "next_sentence": is_next,
        }
        weights = {
            "masked_lm": features.pop("masked_lm_weights"),
            "replaced_tokens": tf.cast(mask, tf.float32),
            "next_sentence": next_weights,
        }
        if "replaced_tokens" not in outputs:
            del features["masked_lm_ids"]
        return (
            features,
            {name: labels[name] for name in outputs},
            {name: weights[name] for name in outputs},
        )

    return features.map(split, tf.data.AUTOTUNE).prefetch(2)


def pack_sequences(features: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Packs a batch of pre-training examples into fewer rows of equal length.

    Takes a batch of `PretrainingRecords`, in which each row is one sequence.
    Returns R rows of at most K sequences and P masked positions, with all
    padding at the end:

        input_ids, segment_ids: int32 [R, S].
        input_mask: int32 [R, S], the index of the token's sequence in its row,
            counted from 1; 0 at padding.
        position_ids: int32 [R, S], counted from 0 in each sequence.
        cls_positions: int32 [R, K], the starts of the sequences.
        masked_lm_positions, _ids, _weights: [R, P]; the positions count from
            the start of the row.
        next_sentence_labels, _weights: [R, K], int32 and float32.

    R, K and P depend on the sequences in the batch, so they change from batch
    to batch. Unused entries and their weights are 0, so a weighted mean over
    the rows equals the mean over the examples.
    """
    seq_length = features["input_ids"].shape[1]
    lengths = tf.math.count_nonzero(features["input_mask"], 1, dtype=tf.int32)
    # First fit, longest first, needs at most 11/9 of the fewest possible rows
    # plus 6/9 of a row (Dosa 2007).
    order = tf.argsort(lengths, direction="DESCENDING", stable=True)
    rows = first_fit(tf.gather(lengths, order), seq_length)
    by_row = tf.argsort(rows, stable=True)
    order, rows = tf.gather(order, by_row), tf.gather(rows, by_row)
    features = {name: tf.gather(x, order) for name, x in features.items()}
    lengths = tf.gather(lengths, order)

    # Where sequences, tokens and masked positions are in their rows.
    numbers = _sum_before(tf.ones_like(rows), rows)[:, None]  # [B, 1]
    begins = _sum_before(lengths, rows)[:, None]  # [B, 1]
    positions = tf.range(seq_length) + tf.zeros_like(begins)  # [B, S]
    is_masked = features["masked_lm_weights"] > 0
    counts = tf.cumsum(tf.cast(is_masked, tf.int32), axis=1)  # [B, P], from 1
    masked = _sum_before(counts[:, -1], rows)[:, None] + counts - 1

    to_sequences = _mover(rows, numbers, tf.ones_like(numbers, tf.bool))
    is_token = features["input_mask"] > 0
    to_tokens = _mover(rows, begins + positions, is_token, seq_length)
    to_masked = _mover(rows, masked, is_masked)
    labels = features["next_sentence_labels"]
    return {
        "input_ids": to_tokens(features["input_ids"]),
        "segment_ids": to_tokens(features["segment_ids"]),
        "input_mask": to_tokens(numbers + tf.ones_like(positions)),
        "position_ids": to_tokens(positions),
        "cls_positions": to_sequences(begins),
        "masked_lm_positions": to_masked(
            begins + features["masked_lm_positions"]
        ),
        "masked_lm_ids": to_masked(features["masked_lm_ids"]),
        "masked_lm_weights": to_masked(features["masked_lm_weights"]),
        "next_sentence_labels": to_sequences(labels),
        "next_sentence_weights": to_sequences(tf.ones_like(labels, tf.float32)),
    }


def first_fit(lengths: tf.Tensor, seq_length: int) -> tf.Tensor:
    """Returns each sequence's row: the first row with room for the sequence.

    Takes the lengths of the sequences, int32 [B], and places the sequences one
    after the other. The result is the 0-based index of each sequence's row,
    int32 [B].
    """
    num_sequences = tf.size(lengths)

    def place(
        i: tf.Tensor, room: tf.Tensor, rows: tf.TensorArray
    ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
        row = tf.argmax(tf.cast(room >= lengths[i], tf.int32), 0, tf.int32)
        room = tf.tensor_scatter_nd_sub(room, [[row]], lengths[i : i + 1])
        return i + 1, room, rows.write(i, row)

    _, _, rows = tf.while_loop(
        lambda i, *_: i < num_sequences,
        place,
        (
            tf.constant(0),
            tf.fill([num_sequences], seq_length),  # at most one row each
            tf.TensorArray(tf.int32, num_sequences, element_shape=[]),
        ),
    )
    return rows.stack()


def _sum_before(values: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Returns, for each value, the sum of the earlier values in its row, [B].

    `rows` is the index of each value's row, in ascending order.
    """
    before = tf.cumsum(values, exclusive=True)
    return before - tf.gather(tf.math.segment_min(before, rows), rows)


def _mover(
    rows: tf.Tensor,
    columns: tf.Tensor,
    is_real: tf.Tensor,
    size: int | None = None,
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Returns a function that scatters values [B, n] into rows [R, size].

    The value at [i, j] goes into row `rows[i]`, column `columns[i, j]`, if
    `is_real[i, j]` is true. All other values are dropped, and all other entries
    of the result are 0.
    """
    if size is None:
        # At least one column, because heads need a position even without masks.
        used = tf.where(is_real, columns, 0)
        size = 1 + tf.maximum(tf.reduce_max(used), 0)
    places = tf.stack([rows[:, None] + tf.zeros_like(columns), columns], -1)
    places = places[is_real]
    # A worker may have no row of the last batch.
    shape = [tf.reduce_sum(rows[-1:] + 1), size]
    return lambda values: tf.scatter_nd(places, values[is_real], shape)

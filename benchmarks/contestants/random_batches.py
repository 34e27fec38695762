"""Batches of random ids without padding, the same for every contestant."""

from __future__ import annotations

import functools

import numpy as np

_FIRST_ID = 1000  # the ids before it are special or unused


@functools.cache
def random_features(
    batch_size: int, seq_length: int, vocab_size: int
) -> dict[str, np.ndarray]:
    """Returns `input_ids`, `input_mask` and `segment_ids`, int32 [B, S].

    The second half of each row is the second segment.
    """
    random = np.random.default_rng(1)
    shape = (batch_size, seq_length)
    ids = random.integers(_FIRST_ID, vocab_size, shape, dtype="int32")
    segments = np.arange(seq_length) >= seq_length // 2
    return {
        "input_ids": ids,
        "input_mask": np.ones(shape, "int32"),
        "segment_ids": np.tile(segments.astype("int32"), (batch_size, 1)),
    }


def random_pretraining_batch(
    batch_size: int, seq_length: int, num_predictions: int, vocab_size: int
) -> dict[str, np.ndarray]:
    """Returns `random_features` and the labels of pre-training.

    `masked_lm_positions` and `masked_lm_ids` are int32 [B, P], and
    `next_sentence_labels` are int32 [B].
    """
    random = np.random.default_rng(2)
    positions = np.stack(
        [
            1 + random.permutation(seq_length - 2)[:num_predictions]
            for _ in range(batch_size)
        ]
    )
    shape = (batch_size, num_predictions)
    return random_features(batch_size, seq_length, vocab_size) | {
        "masked_lm_positions": np.sort(positions).astype("int32"),
        "masked_lm_ids": random.integers(
            _FIRST_ID, vocab_size, shape, dtype="int32"
        ),
        "next_sentence_labels": random.integers(
            0, 2, batch_size, dtype="int32"
        ),
    }

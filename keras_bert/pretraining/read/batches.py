"""Records -> batches of features, labels and weights for pre-training."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.pretraining.read.pairs_to_rows import pack_sequences

_UNKNOWN_ID = "unknown token id"


def pretraining_batches(
    features: tf.data.Dataset,
    *,
    vocab_size: int,
    outputs: tuple[str, ...],
    packed: bool,
) -> tf.data.Dataset:
    """Returns batches of (features, labels, weights), the last two by output.

    Args:
        features: Batches of `PretrainingRecords`.
        vocab_size: Larger ids are an error; see `unknown_id_named`.
        outputs: "masked_lm", and "next_sentence" if it is trained.
        packed: Whether several short sequences share a row.
    """
    if packed:
        features = features.map(pack_sequences, tf.data.AUTOTUNE)

    def split(features):
        # Not in the model: XLA accepts any id, and the loss would be NaN.
        ids = features["input_ids"], features["masked_lm_ids"]
        largest = tf.maximum(*map(tf.reduce_max, ids))
        tf.debugging.Assert(largest < vocab_size, [_UNKNOWN_ID, largest])
        labels = {
            "masked_lm": features.pop("masked_lm_ids"),
            "next_sentence": features.pop("next_sentence_labels"),
        }
        weights = {"masked_lm": features.pop("masked_lm_weights")}
        if packed:
            weights["next_sentence"] = features.pop("next_sentence_weights")
        else:
            labels["next_sentence"] = labels["next_sentence"][:, 0]
            weights["next_sentence"] = tf.ones_like(
                labels["next_sentence"], tf.float32
            )
        return (
            features,
            {name: labels[name] for name in outputs},
            {name: weights[name] for name in outputs},
        )

    return features.map(split).prefetch(2)


@contextlib.contextmanager
def unknown_id_named(vocab_size: int) -> Iterator[None]:
    """Turns TensorFlow's error for an unknown id into an InputError."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        unknown = re.search(rf"\[{_UNKNOWN_ID}\] \[(\d+)\]", error.message)
        if not unknown:
            raise
        raise InputError(
            f"A record contains the token id {unknown[1]}, but the vocab_size "
            f"of the model is {vocab_size}; create the records with the "
            "vocabulary of the model."
        ) from error

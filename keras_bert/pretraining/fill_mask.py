"""The word pieces that a pre-trained model puts in the place of [MASK]."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.packing import pack_segments, pad
from keras_bert.text.tokenizer import BertTokenizer


def fill_mask(
    model: keras.Model, tokenizer: BertTokenizer, text: str, *, top: int = 5
) -> list[list[tuple[str, float]]]:
    """Guesses the word piece at each "[MASK]" of a text.

    Args:
        model: A model of `build_pretraining_model`.
        tokenizer: The tokenizer of the model. Its `special_tokens.mask` is
            the spelling of [MASK].
        text: A text with at least one [MASK].
        top: The number of guesses to return.

    Returns:
        For each [MASK], the best pieces with their probabilities.

    Raises:
        InputError: If the text has no [MASK].

    Example:
        >>> config = keras_bert.BertConfig.from_json(
        ...     "pretrained/bert_config.json"
        ... )
        >>> model = keras_bert.build_pretraining_model(config)
        >>> keras_bert.load_checkpoint(model, "pretrained")
        >>> tokenizer = keras_bert.BertTokenizer("pretrained/vocab.txt")
        >>> (guesses,) = keras_bert.fill_mask(
        ...     model, tokenizer, "a [MASK] dog", top=3
        ... )
        >>> len(guesses)
        3
    """
    mask = tokenizer.special_tokens.mask
    parts = tokenizer(text.split(mask)).to_list()
    if len(parts) == 1:
        raise InputError(f"{text!r} has no {mask} to fill.")
    ids = parts[0]
    for part in parts[1:]:
        ids = [*ids, tokenizer.mask_id, *part]
    packed = pack_segments(
        [tf.RaggedTensor.from_row_lengths(ids, [len(ids)])],
        seq_length=len(ids) + 2,
        cls_id=tokenizer.cls_id,
        sep_id=tokenizer.sep_id,
    )
    features = pad(packed)
    positions = np.flatnonzero(features["input_ids"][0] == tokenizer.mask_id)
    features["masked_lm_positions"] = tf.constant([positions], tf.int32)
    logits = model(features)["masked_lm"][0]  # [P, V]
    probs, pieces = tf.math.top_k(tf.nn.softmax(logits), top)
    return [
        list(zip(tokenizer.tokens(row), map(float, p), strict=True))
        for row, p in zip(pieces.numpy(), probs, strict=True)
    ]

"""Compared with a count by hand."""

import dataclasses

import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.models.flops import count_work

# 2 layers, H = 12, F = 20, V = 32; three sequences of 7, 6 and 1 tokens.
# Per token: 4 products with [12, 12], then [12, 20] and [20, 12].
DENSE = 2 * (7 + 6 + 1) * (4 * 144 + 2 * 240)
# Per query and key: one product of 12 numbers for the score, one for the
# context.
ATTENTION = 2 * (49 + 36 + 1) * (12 + 12)


def _features(*rows):
    return {"input_mask": tf.constant(rows)}


UNPACKED = _features([1] * 7 + [0], [1] * 6 + [0] * 2, [1] + [0] * 7)


def _counted(features, config, **kwargs):
    counted = tf.function(count_work)(
        features, dataclasses.replace(config, vocab_size=32), **kwargs
    )
    return {name: float(amount) for name, amount in counted.items()}


def test_an_encoder(config):
    assert _counted(UNPACKED, config, num_labels=0) == {
        "sequences": 3,
        "tokens": 14,
        # Two for a multiply-add; once forward and twice backward.
        "flops": (DENSE + ATTENTION) * 2 * 3,
    }


def test_its_heads(config):
    features = UNPACKED | {
        "masked_lm_positions": tf.constant([[1, 2, 5], [3, 0, 0], [0, 0, 0]])
    }
    heads = 3 * (12 * 12 + 12 * 5) + 4 * (12 * 12 + 12 * 32)
    counted = _counted(features, config, num_labels=5)
    assert counted["flops"] == (DENSE + ATTENTION + heads) * 6


def test_packed_sequences_count_as_if_unpacked(config):
    packed = _features([1] * 7 + [2] * 6 + [3, 0, 0], [0] * 16)
    for kwargs in ({"num_labels": 0}, {"num_labels": 5}):
        assert _counted(packed, config, **kwargs) == _counted(
            UNPACKED, config, **kwargs
        )


def test_near_tokens_in_rows_of_any_length(config):
    config = dataclasses.replace(config, vocab_size=32, local_attention=4)
    spec = {"input_mask": tf.TensorSpec([None, None], tf.int32)}
    count = tf.function(lambda x: count_work(x, config, num_labels=0))
    counted = count.get_concrete_function(spec)(UNPACKED)
    # In the second layer, a token attends to two tokens on each side.
    pairs = (49 + 36 + 1) + (29 + 24 + 1)
    assert float(counted["flops"]) == 6 * (DENSE + pairs * (12 + 12))


def test_a_batch_of_bert_base():
    """Kernels of the encoder: 84,934,656 numbers, each a multiply-add."""
    config = BertConfig.from_name("bert_base_uncased")
    counted = count_work(_features(*[[1] * 128] * 2), config, num_labels=0)
    attention = 12 * 128 * 128 * 2 * 768
    assert float(counted["flops"]) == 6 * 2 * (128 * 84_934_656 + attention)

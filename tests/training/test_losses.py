import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training.losses import MaskedLMLoss


def test_masked_lm_loss_is_the_mean_over_masked_tokens():
    logits = np.random.default_rng(3).normal(size=(2, 5, 31)).astype("f")
    ids = np.arange(10).reshape(2, 5)
    weights = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 0]], "f")
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    chosen = [log_probs[0, 0, 0], log_probs[0, 1, 1], log_probs[1, 0, 5]]
    loss = MaskedLMLoss()(ids, logits, weights)
    assert float(loss) == pytest.approx(-sum(chosen) / (3 + 1e-5), rel=1e-6)
    half = MaskedLMLoss()(ids, tf.cast(logits, tf.bfloat16), weights)
    assert half.dtype == "float32"
    assert float(MaskedLMLoss()(ids, logits, 0 * weights)) == 0.0

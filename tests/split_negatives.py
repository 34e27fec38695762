"""A step on pairs with negatives of the whole batch, however it is split.

python split_negatives.py FILE: one of several workers; needs TF_CONFIG and
writes the loss and the gradients.
"""

import dataclasses
import sys

import keras
import numpy as np
import tensorflow as tf
from conftest import CONFIG, V, randomize
from fit_steps import count_nothing, fit
from kind_examples import make_spec

from keras_bert.kinds.network_calls import pack_choices
from keras_bert.kinds.registry import get_kind
from keras_bert.models.embedder import build_embedder
from keras_bert.text.packing import pad
from keras_bert.training.distribution import distribute
from keras_bert.training.steps import Steps

B, C = 64, 3


def data():
    """Returns features and labels; some texts occur in several places."""
    random = np.random.default_rng(3)
    texts = [
        [2, *random.integers(5, V, random.integers(1, 5)), 3]
        for _ in range(B * C)
    ]
    labels = np.arange(B * C)
    # Unequal texts of rows in unlike parts of the batch.
    for place, like in ((190, 4), (100, 1), (63, 0), (150, 99)):
        texts[place], labels[place] = texts[like], labels[like]
    input_ids = tf.ragged.constant(texts, tf.int32)
    features = {"input_ids": input_ids, "segment_ids": input_ids * 0}
    return (
        pad(pack_choices(features, C, packed=True)),
        {"embeddings": labels.reshape(B, C).astype("int32")},
    )


def build_model():
    """Has no dropout, because a split changes the random numbers."""
    keras.utils.set_random_seed(5)
    config = dataclasses.replace(
        CONFIG,
        num_hidden_layers=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = build_embedder(config, packed=True)
    randomize(model)
    return model


def objectives(**settings):
    spec = make_spec("embedding", **settings)
    return get_kind("embedding")(spec, _Tokenizer()).objectives


class _Tokenizer(tf.Module):
    """Is not called."""


def step(strategy, *, learning_rate=1.0, **settings):
    """Returns the loss of the batch, and the gradient of every weight."""
    with strategy.scope():
        model = build_model()
        steps = Steps(
            model,
            objectives(dimensions="12,5"),
            keras.optimizers.SGD(learning_rate),
            count_work=count_nothing,
            **settings,
        )
    before = [w.numpy() for w in model.weights]
    rows = tf.data.Dataset.from_tensors(data())
    loss = fit(
        steps,
        distribute(strategy, lambda share: rows.map(lambda *x: share.cut(x))),
        steps_per_epoch=1,
    )["loss"][0]
    gradients = {
        w.path: (old - w.numpy()) / learning_rate
        for w, old in zip(model.weights, before, strict=True)
    }
    return loss, gradients


if __name__ == "__main__":
    loss, gradients = step(tf.distribute.MultiWorkerMirroredStrategy())
    np.savez(sys.argv[1], loss=loss, **gradients)

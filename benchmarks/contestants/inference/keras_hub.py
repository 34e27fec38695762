"""keras-hub's BertBackbone on TensorFlow, called in a tf.function.

Keras' `predict` would be slower: it adds some milliseconds to every call.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import keras_hub
import tensorflow as tf
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("keras-hub", "keras", "tensorflow")
_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def prepare(options):
    keras.config.set_dtype_policy(_POLICIES[options["precision"]])
    backbone = keras_hub.models.BertBackbone.from_preset(options["model"])
    encoder = keras.Model(backbone.input, backbone.output["sequence_output"])
    # Without XLA, which is no faster here and much slower in bfloat16.
    call = tf.function(lambda features: encoder(features, training=False))

    def run(case):
        features = random_features(**case, vocab_size=backbone.vocabulary_size)
        return call(
            {
                "token_ids": tf.constant(features["input_ids"]),
                "padding_mask": tf.constant(features["input_mask"]),
                "segment_ids": tf.constant(features["segment_ids"]),
            }
        ).numpy()

    return Prepared(
        run,
        check=lambda hidden: hidden[0, 0, :8].astype("float32").tolist(),
    )

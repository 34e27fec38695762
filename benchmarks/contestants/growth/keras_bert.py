"""`build_encoder` with random weights, in float32."""

import os

# The commands set these variables too.
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import tensorflow as tf
from contestant import Prepared
from random_batches import random_features

import keras_bert

PACKAGES = ("keras-bert-tf", "tensorflow", "keras")


def prepare(options):
    built = {}

    def run(case):
        model = case["model"]
        if model not in built:
            built.clear()  # the largest model needs the memory
            encoder = keras_bert.models.build_encoder(
                keras_bert.BertConfig.from_name(model)
            )
            built[model] = encoder, tf.function(encoder, reduce_retracing=True)
        encoder, call = built[model]
        features = random_features(
            case["batch_size"], case["seq_length"], options["vocab_size"]
        )
        features = {n: tf.constant(x) for n, x in features.items()}
        return call(features)["sequence_output"].numpy()

    return Prepared(run)

"""The network in a SavedModel that `export_pretrained` wrote."""

import os

# The commands set these variables too.
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its operations)
from contestant import Prepared
from random_batches import random_features

import keras_bert
from keras_bert.models.flops import count_work

PACKAGES = ("keras-bert-tf", "tensorflow", "keras")


def prepare(options):
    folder = Path(options["saved_model"])
    config = keras_bert.BertConfig.from_json(
        folder / "assets" / "bert_config.json"
    )
    model = tf.saved_model.load(str(folder))
    call = model.signatures["serve_ids"]

    def features_of(case):
        return random_features(**case, vocab_size=config.vocab_size)

    def run(case):
        features = {n: tf.constant(x) for n, x in features_of(case).items()}
        return call(**features)["sequence_output"].numpy()

    # The signature works only while the model is alive.
    run.model = model
    return Prepared(
        run,
        check=lambda hidden: hidden[0, 0, :8].astype("float32").tolist(),
        # `count_work` counts the FLOPs of training: the backward pass takes
        # twice as many as the forward pass.
        flops=lambda case: (
            count_work(features_of(case), config, num_labels=0)["flops"] / 3
        ),
    )

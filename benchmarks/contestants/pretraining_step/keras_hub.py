"""A step of keras-hub's BertMaskedLM with Keras' AdamW and clipping.

keras-hub has no next-sentence objective.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import functools
import json
from pathlib import Path

import keras
import keras_hub
import tensorflow as tf
from contestant import Prepared
from random_batches import random_pretraining_batch

PACKAGES = ("keras-hub", "keras", "tensorflow")
_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def prepare(options):
    keras.config.set_dtype_policy(_POLICIES[options["precision"]])
    config = json.loads(Path(options["config_file"]).read_text())
    model = keras_hub.models.BertMaskedLM(
        keras_hub.models.BertBackbone(
            vocabulary_size=config["vocab_size"],
            num_layers=config["num_hidden_layers"],
            num_heads=config["num_attention_heads"],
            hidden_dim=config["hidden_size"],
            intermediate_dim=config["intermediate_size"],
            dropout=config["hidden_dropout_prob"],
            max_sequence_length=config["max_position_embeddings"],
        ),
        preprocessor=None,
    )
    optimizer = keras.optimizers.AdamW(
        1e-4, weight_decay=0.01, global_clipnorm=1.0
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    model.compile(
        optimizer,
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=["accuracy"],
        jit_compile=False,  # XLA is slower on a CPU
    )

    @functools.cache
    def batch(**case):
        features = random_pretraining_batch(
            **case, vocab_size=config["vocab_size"]
        )
        return (
            {
                "token_ids": tf.constant(features["input_ids"]),
                "padding_mask": tf.constant(features["input_mask"]),
                "segment_ids": tf.constant(features["segment_ids"]),
                "mask_positions": tf.constant(features["masked_lm_positions"]),
            },
            tf.constant(features["masked_lm_ids"]),
            tf.ones(features["masked_lm_ids"].shape),
        )

    def run(case):
        return float(model.train_on_batch(*batch(**case))[0])

    return Prepared(run)

"""Our networks with random weights on JAX, and the work that they do."""

import functools
import json

import keras
from random_batches import random_features, random_pretraining_batch

import keras_bert
from keras_bert.models.flops import count_work

NUM_LABELS = 2


def network(build, config, policy, **arguments):
    """Builds a network, or returns the last one for the same arguments.

    `build` is a keras_bert function, `config` has Hugging Face's keys, and
    `policy` is a Keras policy.
    """
    return _network(build, json.dumps(config), policy, **arguments)


@functools.lru_cache(maxsize=1)
def _network(build, config, policy, **arguments):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    return build(_bert_config(json.loads(config)), **arguments)


def training_flops(case):
    """Returns the FLOPs to train on a sequence: three times a forward pass."""
    config = _bert_config(case["config"])
    features = random_features(1, case["seq_length"], config.vocab_size)
    if case.get("num_predictions"):
        features = random_pretraining_batch(
            1, case["seq_length"], case["num_predictions"], config.vocab_size
        )
    work = count_work(features, config, num_labels=NUM_LABELS)
    return float(work["flops"])


def inference_flops(case):
    """Returns the FLOPs of a sequence, forward only."""
    config = _bert_config(case["config"])
    features = random_features(1, case["seq_length"], config.vocab_size)
    num_labels = NUM_LABELS if case["classifies"] else 0
    work = count_work(features, config, num_labels=num_labels)
    return float(work["flops"]) / 3  # `count_work` is for training


def _bert_config(config):
    return keras_bert.BertConfig.from_dict(config)

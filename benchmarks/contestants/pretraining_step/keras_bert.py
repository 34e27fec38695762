"""A step as `keras_bert.pretrain` runs it, with both objectives."""

import os

# The commands set these variables too.
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import functools

import tensorflow as tf
from contestant import Prepared
from random_batches import random_pretraining_batch

import keras_bert
from keras_bert.models.flops import count_work
from keras_bert.pretraining.read.pairs_to_batches import pretraining_batches
from keras_bert.training.distribution import precision
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import Steps

PACKAGES = ("keras-bert-tf", "tensorflow", "keras")
_OUTPUTS = ("masked_lm", "next_sentence")


def prepare(options):
    config = keras_bert.BertConfig.from_name(options["model"])
    training = keras_bert.PretrainingConfig(precision=options["precision"])
    count = functools.partial(count_work, config=config, num_labels=2)
    with precision(training.precision):
        steps = Steps(
            keras_bert.models.build_pretraining_model(config),
            {
                name: keras_bert.training.Objective(
                    cross_entropy, {"accuracy": accuracy}
                )
                for name in _OUTPUTS
            },
            build_optimizer(
                training, training.num_train_steps, training.num_warmup_steps
            ),
            count_work=count,
        )

    @functools.cache
    def batches(**case):
        features = random_pretraining_batch(
            **case, vocab_size=config.vocab_size
        )
        features["next_sentence_labels"] = features["next_sentence_labels"][
            :, None
        ]
        features["masked_lm_weights"] = tf.ones(
            tf.shape(features["masked_lm_ids"])
        )
        dataset = tf.data.Dataset.from_tensors(features).repeat()
        return iter(
            pretraining_batches(
                dataset,
                vocab_size=config.vocab_size,
                outputs=_OUTPUTS,
                packed=False,
            )
        )

    def run(case):
        return float(steps.train(batches(**case))["loss"])

    return Prepared(
        run,
        flops=lambda case: count(next(batches(**case))[0])["flops"],
    )

"""Measures the time of a training step with and without packing.

    python benchmarks/packing_speed.py --input_file=records.tfrecord

Packing gains most on short sequences, so make the records with
--short_seq_prob=1.0, for example. Steps with and without packing take turns in
one process, on the same examples. The time includes reading. The table shows
the median time per batch and the speedup.
"""

import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")

import numpy as np
import tensorflow as tf
from absl import app, flags

from keras_bert.config import BertConfig
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.pretraining.read.files_to_records import (
    PretrainingRecords,
    find_files,
)
from keras_bert.pretraining.read.pairs_to_batches import pack_sequences
from keras_bert.training.losses import cross_entropy, weighted_mean
from keras_bert.training.optimizers.adam import AdamWeightDecay

_INPUT_FILE = flags.DEFINE_string("input_file", None, "Records with masks.")
_MODEL = flags.DEFINE_string("model", "bert_tiny", "The model.")
_BATCH_SIZE = flags.DEFINE_integer("train_batch_size", 64, "Examples per step.")
_SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", 128, "The value in the records."
)
_PREDICTIONS = flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "The value in the records."
)
_ROUNDS = flags.DEFINE_integer(
    "rounds", 30, "Timed steps with packing, and without packing."
)


def main(_):
    records = PretrainingRecords(
        find_files(_INPUT_FILE.value),
        max_seq_length=_SEQ_LENGTH.value,
        max_predictions_per_seq=_PREDICTIONS.value,
    )
    batches = records.batches(_BATCH_SIZE.value, shuffle_seed=1)
    packed_batches = batches.map(pack_sequences, tf.data.AUTOTUNE)
    steps = {
        "plain": (_step_function(packed=False), iter(batches.prefetch(2))),
        "packed": (
            _step_function(packed=True),
            iter(packed_batches.prefetch(2)),
        ),
    }
    seconds = {name: [] for name in steps}
    rows = {name: [] for name in steps}
    for i in range(_ROUNDS.value + 3):
        for name, (step, iterator) in steps.items():
            begin = time.perf_counter()
            features = next(iterator)
            step(features).numpy()
            if i >= 3:  # the first steps trace and fill the queues
                seconds[name].append(time.perf_counter() - begin)
                rows[name].append(len(features["input_ids"]))
    plain = np.median(seconds["plain"])
    print("| step | rows | ms | speedup |\n|---|---|---|---|")
    for name, times in seconds.items():
        median = np.median(times)
        print(
            f"| {name} | {np.mean(rows[name]):.1f} | {median * 1e3:.0f} | "
            f"{plain / median:.2f} |"
        )


def _step_function(packed):
    config = BertConfig.from_name(_MODEL.value)
    next_sentence = config.family == "bert"
    model = build_pretraining_model(
        config, next_sentence=next_sentence, packed=packed
    )
    optimizer = AdamWeightDecay(1e-4)
    optimizer.build(model.trainable_variables)

    @tf.function(reduce_retracing=True)
    def step(features):
        with tf.GradientTape() as tape:
            outputs = model(
                {name: features[name] for name in model.input}, training=True
            )
            loss = weighted_mean(
                cross_entropy(features["masked_lm_ids"], outputs["masked_lm"]),
                features["masked_lm_weights"],
            )
            if next_sentence:
                loss += _next_sentence_loss(features, outputs, packed)
        variables = model.trainable_variables
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    return step


def _next_sentence_loss(features, outputs, packed):
    labels = features["next_sentence_labels"]
    if packed:
        weights = features["next_sentence_weights"]
    else:
        labels, weights = labels[:, 0], tf.ones(_BATCH_SIZE.value)
    return weighted_mean(
        cross_entropy(labels, outputs["next_sentence"]), weights
    )


if __name__ == "__main__":
    flags.mark_flag_as_required("input_file")
    app.run(main)

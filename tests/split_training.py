"""A small pre-training run. As a script, it is one of several workers.

python split_training.py FILE OUTPUT_DIR: needs TF_CONFIG; writes figures,
weights, and the step at which a run with early stopping ends.
"""

import dataclasses
import functools
import sys
from pathlib import Path

import conftest
import keras
import numpy as np
import tensorflow as tf
from fit_steps import fit
from small_run import CONFIG, train_small

from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.training.best import Selection
from keras_bert.training.distribution import distribute, value_of_chief
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.objectives import BatchObjective, Objective
from keras_bert.training.optimizers.adam import AdamWeightDecay
from keras_bert.training.steps import Steps

NUM_ROWS, S, P, V = 72, 7, 5, 31


def build_model() -> keras.Model:
    """Has no dropout, because a split changes the random numbers."""
    config = dataclasses.replace(
        conftest.CONFIG,
        num_hidden_layers=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = build_pretraining_model(config)
    tokens = model.get_layer("sequence_output").output
    pairs = keras.ops.stack(
        [model.get_layer("pooler").output, tokens[:, 1]], axis=1
    )  # [B, 2, H]
    return keras.Model(model.input, model.output | {"pairs": pairs})


def softmax_in_batch(labels, outputs, weights):
    """Each first vector must find its own second vector in the whole batch.

    The labels scale the losses, so the order of the labels matters too.
    """
    losses = cross_entropy(tf.range(tf.shape(outputs)[0]), _scores(outputs))
    scales = tf.cast(1 + labels, tf.float32) / 5
    return tf.reduce_sum(weights * scales * losses) / tf.reduce_sum(weights)


def found_in_batch(labels, outputs, weights):
    return tf.reduce_mean(
        accuracy(tf.range(tf.shape(outputs)[0]), _scores(outputs))
    )


def _scores(outputs):
    first, second = tf.unstack(outputs, axis=1)
    return first @ tf.transpose(second)


OBJECTIVES = {
    "masked_lm": Objective(cross_entropy, {"accuracy": accuracy}),
    "next_sentence": Objective(cross_entropy, {"accuracy": accuracy}),
    "pairs": BatchObjective(softmax_in_batch, {"accuracy": found_in_batch}),
}


def data():
    """Returns features, labels, weights; later rows have more masked tokens."""
    random = np.random.default_rng(1)
    features = {
        "input_ids": random.integers(5, V, (NUM_ROWS, S)),
        "input_mask": np.arange(S) < random.integers(3, S + 1, (NUM_ROWS, 1)),
        "segment_ids": np.zeros((NUM_ROWS, S)),
        "masked_lm_positions": random.integers(0, 3, (NUM_ROWS, P)),
    }
    labels = {
        "masked_lm": random.integers(0, V, (NUM_ROWS, P)),
        "next_sentence": random.integers(0, 2, NUM_ROWS),
        "pairs": np.arange(NUM_ROWS) % 5,
    }
    is_masked = (
        random.random((NUM_ROWS, P)) < np.linspace(0, 1, NUM_ROWS)[:, None]
    )
    return (
        {name: x.astype("int32") for name, x in features.items()},
        {name: y.astype("int32") for name, y in labels.items()},
        {
            "masked_lm": is_masked.astype("float32"),
            "next_sentence": np.ones(NUM_ROWS, "float32"),
            "pairs": np.linspace(0.5, 1, NUM_ROWS, dtype="float32"),
        },
    )


def count_work(features):
    """Counts the work of a batch or of a part of a batch."""
    rows = tf.shape(features["input_mask"])[0]
    return {
        "sequences": tf.cast(rows, tf.float32),
        "tokens": tf.cast(tf.reduce_sum(features["input_mask"]), tf.float32),
        "flops": tf.cast(tf.reduce_sum(features["input_ids"]), tf.float32),
    }


def train(strategy, **settings):
    """Returns the figures and work of two epochs, and the final weights."""
    rows = tf.data.Dataset.from_tensor_slices(data())

    def batches(size, share, **options):
        dataset = rows.batch(size, **options)
        return dataset.map(lambda *batch: share.cut(batch))

    keras.utils.set_random_seed(5)
    with strategy.scope():
        model = build_model()
        steps = Steps(
            model,
            OBJECTIVES,
            AdamWeightDecay(0.003),
            count_work=count_work,
            **settings,
        )
    # The last batch is smaller, and so is its last part.
    held_out = distribute(strategy, functools.partial(batches, 31))

    def after_epoch(epoch):
        work = steps.take_work()
        figures = steps.evaluate(held_out, int(rows.batch(31).cardinality()))
        return work | {f"val_{name}": x for name, x in figures.items()}

    history = fit(
        steps,
        distribute(
            strategy,
            lambda share: batches(24, share, drop_remainder=True).repeat(),
        ),
        steps_per_epoch=4,
        epochs=2,
        after_epoch=after_epoch,
    )
    return history, {w.path: w.numpy() for w in model.weights}


def step_of_early_stop(strategy, output_dir):
    """Returns the last step of a run whose scores rise only on the chief."""
    is_chief = strategy.cluster_resolver.task_id == 0
    scores = iter([0.3, 0.4, 0.4, 0.4] if is_chief else [0.3, 0.2, 0.2, 0.2])
    _, figures = train_small(
        Path(output_dir),
        12,
        dataclasses.replace(CONFIG, train_batch_size=4),
        strategy=strategy,
        selection=Selection(lambda model: {"f1": next(scores)}, "f1", 2),
    )
    return figures["step"]


if __name__ == "__main__":
    file, output_dir = sys.argv[1:]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    step = value_of_chief(strategy, 7 + 4 * strategy.cluster_resolver.task_id)
    figures, weights = train(strategy)
    figures = {f"figure {name}": values for name, values in figures.items()}
    np.savez(
        file,
        **figures,
        **weights,
        value_of_chief=step,
        step_of_early_stop=step_of_early_stop(strategy, output_dir),
    )

"""A small pre-training run; as a script, the part of one worker of it.

python split_training.py FILE: with TF_CONFIG, writes figures and weights.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.optimizers.adam_weight_decay import AdamWeightDecay
from keras_bert.training.training_model import Objective, TrainingModel
from keras_bert.training.workers import step_of_chief

NUM_ROWS, S, P, V = 72, 7, 5, 31


def build_model() -> keras.Model:
    """Without dropout, whose random numbers a split changes."""
    return build_pretraining_model(
        BertConfig(
            vocab_size=V,
            hidden_size=12,
            num_hidden_layers=2,
            num_attention_heads=3,
            intermediate_size=20,
            max_position_embeddings=16,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def data():
    """Features, labels and weights; the more masked, the later the row."""
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
        },
    )


def count_work(features):
    """Of a batch or of a part of it."""
    rows = tf.shape(features["input_mask"])[0]
    return {
        "sequences": tf.cast(rows, tf.float32),
        "tokens": tf.cast(tf.reduce_sum(features["input_mask"]), tf.float32),
        "flops": tf.cast(tf.reduce_sum(features["input_ids"]), tf.float32),
    }


def train(strategy, *, steps_per_execution=1, **settings):
    """Returns the figures and work of two epochs, and the weights after."""
    dataset = tf.data.Dataset.from_tensor_slices(data())
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    dataset = dataset.with_options(options)
    keras.utils.set_random_seed(5)
    with strategy.scope():
        model = TrainingModel(
            build_model(),
            {
                output: Objective(cross_entropy, {"accuracy": accuracy})
                for output in ("masked_lm", "next_sentence")
            },
            count_work=count_work,
            **settings,
        )
        model.compile(
            AdamWeightDecay(0.003),
            steps_per_execution=steps_per_execution,
            jit_compile=False,
        )
    work = []

    def take_work(epoch, logs):
        work.append(model.take_work())

    history = model.fit(
        dataset.batch(24, drop_remainder=True).repeat(),
        steps_per_epoch=4,
        epochs=2,
        # The last batch is smaller, and the last part of it too.
        validation_data=dataset.batch(31),
        shuffle=False,
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=take_work)],
    ).history
    for name in work[0]:
        history[name] = [amounts[name] for amounts in work]
    return history, {w.path: w.numpy() for w in model.weights}


if __name__ == "__main__":
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    step = step_of_chief(strategy, 7 + 4 * strategy.cluster_resolver.task_id)
    figures, weights = train(strategy)
    figures = {f"figure {name}": values for name, values in figures.items()}
    np.savez(sys.argv[1], **figures, **weights, step_of_chief=step)

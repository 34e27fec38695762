"""A training run of one second: two dense layers and 20 rows."""

import csv

import keras
import numpy as np
import tensorflow as tf

from keras_bert.io.paths import to_path
from keras_bert.training.config import TrainConfig
from keras_bert.training.fingerprint import Fingerprint
from keras_bert.training.losses import cross_entropy
from keras_bert.training.objectives import Objective
from keras_bert.training.run import train
from keras_bert.training.run_folder import RunFolder
from keras_bert.training.setup import TrainingSetup

CONFIG = TrainConfig(
    learning_rate=0.05,
    train_batch_size=3,
    save_checkpoints_steps=2,
    keep_checkpoint_max=2,
)


def build_small_model():
    """Has dropout, whose random numbers a resumed run must continue."""
    inputs = keras.Input((5,), name="x")
    x = keras.layers.Dense(7, activation="relu", name="hidden")(inputs)
    x = keras.layers.Dropout(0.3, name="dropout")(x)
    outputs = keras.layers.Dense(2, name="logits")(x)
    return keras.Model({"x": inputs}, {"logits": outputs})


def build_plain_model():
    model = build_small_model()
    hidden = model.get_layer("hidden").output
    return keras.Model(
        model.input, {"logits": model.get_layer("logits")(hidden)}
    )


def small_dataset():
    random = np.random.default_rng(4)
    x = random.normal(size=(20, 5)).astype("float32")
    y = (x.sum(1) > 0).astype("int32")
    return tf.data.Dataset.from_tensor_slices(({"x": x}, {"logits": y}))


def train_small(
    output_dir,
    steps,
    config=CONFIG,
    build_model=build_small_model,
    train_batches=None,
    num_warmup_steps=1,
    strategy=None,
    selection=None,
    digests=None,
    callbacks=(),
    evaluates_first=False,
):
    """Returns the model and the last row of the history."""

    def first_batches(step, share):
        dataset = small_dataset().shuffle(20, seed=1).repeat()
        dataset = dataset.batch(config.train_batch_size).skip(step)
        return dataset.map(lambda *batch: share.cut(batch))

    def held_out_batches(share):
        dataset = small_dataset().batch(4)
        return dataset.map(lambda *batch: share.cut(batch))

    model, history = train(
        TrainingSetup(
            config=config,
            build_model=build_model,
            objectives={
                "logits": Objective(cross_entropy, {}, {"doubled": _doubled})
            },
            count_work=_count_work,
            num_train_steps=steps,
            num_warmup_steps=num_warmup_steps,
            train_batches=train_batches or first_batches,
            held_out_batches=None if selection else held_out_batches,
            selection=selection,
            evaluates_first=evaluates_first,
        ),
        RunFolder(
            path=to_path(output_dir),
            strategy=strategy or tf.distribute.get_strategy(),
            sidecars={"note.txt": "kept"},
            fingerprint=Fingerprint(config.fixed_settings(), digests or {}),
        ),
        callbacks,
    )
    return model, history.last


def _count_work(features):
    rows = tf.cast(tf.shape(features["x"])[0], tf.float32)
    return {"sequences": rows, "tokens": 5 * rows, "flops": 700 * rows}


def _doubled(loss):
    return 2 * loss


def history_rows(output_dir):
    with (output_dir / "history.csv").open(newline="") as file:
        return list(csv.DictReader(file))

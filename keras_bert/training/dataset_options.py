"""How a dataset is run that a model goes through."""

import tensorflow as tf


def with_options(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The dataset, dealt by rows and not tuned while it runs.

    Each of several workers takes its rows of each batch, not its files.
    Tuning finds nothing faster than all cores for a map of `AUTOTUNE`, and an
    iterator that has been tuned for a while now and then waits up to a minute,
    doing nothing, when it is deleted (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_distribute.auto_shard_policy = (
        tf.data.experimental.AutoShardPolicy.DATA
    )
    return dataset.with_options(options)

"""The options of every dataset that a model reads."""

import tensorflow as tf


def without_tuning(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Returns the dataset without tuning at run time.

    Tuning finds nothing faster than all cores for a map with `AUTOTUNE`, and
    the deletion of a tuned iterator sometimes hangs for up to a minute
    (TensorFlow 2.21).
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)

"""The devices and the precision of a run, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.training.config import TrainConfig
from keras_bert.training.workers import ends_without_workers


def get_strategy(config: TrainConfig) -> tf.distribute.Strategy:
    """Returns the strategy of a run.

    `mirrored` uses all GPUs, or all (logical) CPUs if there is no GPU. For
    `multi_worker_mirrored`, TensorFlow reads TF_CONFIG from the environment
    and waits for the other workers.

    Raises InputError if TF_CONFIG is wrong or there is no such TPU.
    """
    name, tpu = config.distribution_strategy, config.tpu
    if name == "one_device":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or (
            tf.config.list_logical_devices("CPU")
        )
        return tf.distribute.MirroredStrategy([d.name for d in devices])
    if name == "multi_worker_mirrored":
        try:
            with ends_without_workers(config.worker_timeout_seconds):
                return tf.distribute.MultiWorkerMirroredStrategy()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                "TF_CONFIG does not describe a cluster; set it as "
                "https://www.tensorflow.org/guide/distributed_training says. "
                f"TensorFlow says: {_first_line(error)}"
            ) from error
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (OSError, tf.errors.OpError) as error:  # OSError: a name
        raise InputError(
            f"There is no TPU at {tpu!r}; give its name or address, or "
            "another distribution_strategy. TensorFlow says: "
            f"{_first_line(error)}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


def _first_line(error):
    return str(error).partition("\n")[0]


@contextlib.contextmanager
def precision(name: str) -> Iterator[None]:
    """Makes models that are built inside compute in this dtype.

    Their weights are float32.
    """
    before = keras.config.dtype_policy()
    policy = name if name == "float32" else f"mixed_{name}"
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Returns whether this process writes the files: one of all workers."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return True
    resolver = strategy.cluster_resolver
    if "chief" in resolver.cluster_spec().jobs:
        return resolver.task_type == "chief"
    return not resolver.task_id

"""The devices and the precision of a run, by name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import keras
import tensorflow as tf

from keras_bert.errors import InputError


def get_strategy(name: str, tpu: str = "") -> tf.distribute.Strategy:
    """Returns the strategy of a name that `TrainConfig` lists.

    `mirrored` takes all GPUs, or all (logical) CPUs where there is none.
    `multi_worker_mirrored` reads the environment's TF_CONFIG, as TensorFlow
    documents it. `tpu` is the name or address of a TPU, or "local".

    Raises InputError where there is no such TPU.
    """
    if name == "one_device":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or (
            tf.config.list_logical_devices("CPU")
        )
        return tf.distribute.MirroredStrategy([d.name for d in devices])
    if name == "multi_worker_mirrored":
        return tf.distribute.MultiWorkerMirroredStrategy()
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    except (OSError, tf.errors.OpError) as error:  # OSError: of a name
        raise InputError(
            f"There is no TPU at {tpu!r}; give its name or address, or "
            "another distribution_strategy. TensorFlow says: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return tf.distribute.TPUStrategy(resolver)


@contextlib.contextmanager
def precision(name: str) -> Iterator[None]:
    """Models built inside compute in this dtype; their weights are float32."""
    before = keras.config.dtype_policy()
    policy = name if name == "float32" else f"mixed_{name}"
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def is_chief(strategy: tf.distribute.Strategy) -> bool:
    """Whether this process writes the files; of several workers, one does."""
    if not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return True
    resolver = strategy.cluster_resolver
    if "chief" in resolver.cluster_spec().jobs:
        return resolver.task_type == "chief"
    return not resolver.task_id

"""TensorFlow checkpoint files <-> arrays keyed by the names of variables."""

import contextlib
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.errors import InputError
from keras_bert.io.whole_files import full_disk_named

_OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_TRAINING_STATE = re.compile(r"\.OPTIMIZER_SLOT|(^|/)(optimizer|save_counter)/")


def read_tensorflow(prefix: str | Path) -> Arrays:
    """Returns the arrays of a checkpoint, keyed by the names of variables.

    `prefix` is the prefix of the checkpoint's files. The keys in a TF2
    checkpoint are paths in an object graph; the graph also stores the names of
    the variables. The optimizer's variables in such a checkpoint are left out.
    """
    with _damage_named(prefix):
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        keys = {key: key for key in shapes}
        if _OBJECT_GRAPH in shapes:
            keys = _variable_names(reader.get_tensor(_OBJECT_GRAPH), prefix)

    def read(key: str) -> np.ndarray:
        with _damage_named(prefix):
            return reader.get_tensor(key)

    return {
        name: StoredArray(tuple(shapes[key]), functools.partial(read, key))
        for name, key in keys.items()
    }


def write_tensorflow(prefix: str | Path, stored: Arrays) -> None:
    """Writes arrays as the float32 variables of a TF1 checkpoint.

    Raises OSError if the disk is full.
    """
    # tf.constant alone keeps NumPy's copy until an op runs, which would double
    # the memory of all weights. tf.identity is an op.
    tensors = [
        tf.identity(np.asarray(array.read(), np.float32))
        for array in stored.values()
    ]
    with full_disk_named(prefix, tf.errors.OpError):
        tf.raw_ops.SaveV2(
            prefix=str(prefix),
            tensor_names=list(stored),
            shape_and_slices=[""] * len(stored),
            tensors=tensors,
        )


def _variable_names(data: bytes, prefix: str | Path) -> dict[str, str]:
    graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(data)
    keys: dict[str, str] = {}
    for attribute in (x for node in graph.nodes for x in node.attributes):
        key = attribute.checkpoint_key
        name = attribute.full_name.removesuffix(":0")
        if _TRAINING_STATE.search(key):
            continue
        if keys.setdefault(name, key) != key:
            raise InputError(
                f"{prefix} has two variables with the name {name}, so it "
                "holds more than one network; save the encoder alone."
            )
    return keys


@contextlib.contextmanager
def _damage_named(prefix: str | Path) -> Iterator[None]:
    try:
        yield
    except (tf.errors.OpError, IndexError, RuntimeError) as error:
        raise InputError(
            f"{prefix} is not a complete TensorFlow checkpoint ({error}); copy "
            "it again."
        ) from error

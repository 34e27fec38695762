"""A SavedModel that any package wrote -> its functions."""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf import json_format
from tensorflow.core.protobuf import saved_model_pb2

from keras_bert.errors import InputError
from keras_bert.predict.function import Columns, Function, Spec

# Matches the lines of an error message that say where an operation was defined,
# not what is wrong.
_PLACE = re.compile(
    r"Graph execution error|Detected at node|<stack traces|\s+File |\s*$"
)


def load_saved_model(folder: Path) -> dict[str, Function]:
    """Returns the functions of a SavedModel, keyed by signature name.

    Raises InputError if the model has an operation that is not installed.
    """
    with contextlib.suppress(ModuleNotFoundError):
        import tensorflow_text  # noqa: F401  (registers its operations)
    content = (folder / "saved_model.pb").read_bytes()
    try:
        model = tf.saved_model.load(str(folder), [tf.saved_model.SERVING])
    except (OSError, RuntimeError, tf.errors.NotFoundError) as error:
        if "Op type not registered" not in str(error):
            raise
        raise InputError(
            f"{folder} has operations that are not installed; models that take "
            "strings need tensorflow-text: export the model with --portable, "
            "or use a machine for which tensorflow-text has wheels, such as "
            "Linux on x86_64, and run pip install tensorflow-text."
        ) from error
    definitions = {
        name: definition
        for graph in saved_model_pb2.SavedModel.FromString(content).meta_graphs
        if list(graph.meta_info_def.tags) == [tf.saved_model.SERVING]
        for name, definition in graph.signature_def.items()
    }
    return {x: _function(model, x, definitions[x]) for x in model.signatures}


def _function(model: Any, signature: str, definition: Any) -> Function:
    function = model.signatures[signature]
    inputs = _to_specs(function.structured_input_signature[1])
    outputs = _to_specs(function.structured_outputs)

    def call(columns: Columns) -> dict[str, np.ndarray]:
        # This closure keeps `model` alive. Without the model, its variables
        # would be deleted.
        arrays = ask(model.signatures[signature], columns, inputs)
        return {name: arrays[name] for name in outputs}

    shown = json_format.MessageToDict(
        definition,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )
    return Function(call, inputs, outputs, shown)


def _to_specs(tensors: Mapping[str, tf.TensorSpec]) -> dict[str, Spec]:
    return {name: to_spec(x) for name, x in sorted(tensors.items())}


def to_spec(tensor: tf.TensorSpec) -> Spec:
    """Returns the dtype and shape of the arrays that fit a tensor's spec."""
    rank = tensor.shape.rank
    shape = None if rank is None else tuple(tensor.shape.as_list())
    return Spec(np.dtype(tensor.dtype.as_numpy_dtype), shape)


def ask(
    function: Callable, columns: Columns, inputs: Iterable[str]
) -> dict[str, np.ndarray]:
    """Returns the outputs of a TensorFlow function as arrays, keyed by name.

    Raises InputError if the function cannot read the columns.
    """
    tensors = {name: tf.constant(columns[name]) for name in inputs}
    try:
        return {name: x.numpy() for name, x in function(**tensors).items()}
    except UnicodeDecodeError as error:
        # Python could not read TensorFlow's message, which quotes an input.
        raise InputError(
            "The model cannot read this input: the input has bytes that are "
            "not UTF-8 where the model reads text or a tf.Example."
        ) from error
    except (tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError) as error:
        lines = error.message.split("\n\t [[")[0].splitlines()
        reason = " ".join(x.strip() for x in lines if not _PLACE.match(x))
        raise InputError(
            f"The model cannot read this input: {reason.strip()[:300]}"
        ) from error

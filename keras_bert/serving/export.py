"""A fine-tuned model -> a SavedModel that takes raw strings."""

from __future__ import annotations

import tempfile
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.files import atomic_path, to_json
from keras_bert.kinds.kind import Kind
from keras_bert.serving.served_model import DESCRIPTION

_PARTS_OF_A_SAVED_MODEL = {
    "assets",
    "fingerprint.pb",
    "saved_model.pb",
    "variables",
}


def export_saved_model(
    model: keras.Model, kind: Kind, export_dir: str | Path
) -> None:
    """Writes a SavedModel for TensorFlow Serving and `ServedModel`.

    Loading it needs tensorflow and tensorflow_text, nothing else. The class
    of the kind, such as `Classification`, says what the signatures take and
    return. `assets/task.json` holds the labels and the names of the inputs.

    Args:
        model: The network.
        kind: Turns strings into its inputs, and its outputs into answers.
        export_dir: The folder to write. It appears when it is whole, and
            replaces an earlier SavedModel.

    Raises:
        InputError: If `export_dir` holds anything else.
    """
    export_dir = Path(export_dir)
    if export_dir.exists() and not _is_saved_model(export_dir):
        raise InputError(
            f"{export_dir} exists already and is not a SavedModel; give a new "
            "folder."
        )
    signatures = kind.signatures(model)
    functions = {
        name: tf.function(
            signature.function,
            input_signature=signature.inputs,
            autograph=False,
        )
        for name, signature in signatures.items()
    }
    description = {
        "kind": kind.name,
        "labels": kind.spec.labels,
        "signatures": {
            name: {
                # The rank tells a list of strings from a string.
                "inputs": {x.name: x.shape.rank for x in signature.inputs},
                "by_label": signature.by_label,
            }
            for name, signature in signatures.items()
        },
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, DESCRIPTION)
        file.write_text(to_json(description), encoding="utf-8")
        module = tf.Module(name="served")
        # Not the model: a session would restore the variables of Keras into
        # copies that no function reads.
        module.tracked = [x.value for x in model.variables], kind
        module.description = tf.saved_model.Asset(str(file))
        with atomic_path(export_dir) as path:
            tf.saved_model.save(module, str(path), functions)


def _is_saved_model(path):
    """Also true of an empty folder."""
    return path.is_dir() and all(
        part.name in _PARTS_OF_A_SAVED_MODEL for part in path.iterdir()
    )

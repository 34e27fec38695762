"""A fine-tuned model -> a SavedModel that takes raw strings."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.files import atomic_path

_PARTS_OF_A_SAVED_MODEL = {
    "assets",
    "fingerprint.pb",
    "saved_model.pb",
    "variables",
}


class Servable(Protocol):
    """What gives a network's numbers a meaning; see `keras_bert.kinds.base`.

    A tf.Module whose method `signatures` takes the network and returns, by
    name, functions of strings and their input specifications.
    """

    def signatures(self, model: keras.Model) -> dict[str, tuple]: ...


def export_saved_model(
    model: keras.Model,
    head: Servable,
    export_dir: str | Path,
    *,
    labels: Sequence[str] = (),
) -> None:
    """Writes a SavedModel for TensorFlow Serving and `run_scripts/predict.py`.

    What its `serving_default` takes and returns is said where the head is
    defined, such as `ClassificationHead`. Needs tensorflow and
    tensorflow_text to load, nothing else. Its folder `assets` has
    `inputs.txt`, the names of the strings in their order, and, where there
    are labels, `labels.txt`.

    Args:
        model: The network.
        head: Strings -> its features, its outputs -> answers.
        export_dir: The folder to write; appears when it is whole, in place
            of an earlier SavedModel.
        labels: Names of the columns of scores.

    Raises:
        InputError: Where `export_dir` holds anything else.
    """
    export_dir = Path(export_dir)
    if export_dir.exists() and not _is_saved_model(export_dir):
        raise InputError(
            f"{export_dir} is there already and no SavedModel; give a new "
            "folder."
        )
    signatures = {
        name: tf.function(function, input_signature=specs, autograph=False)
        for name, (function, specs) in head.signatures(model).items()
    }
    inputs = [s.name for s in signatures["serving_default"].input_signature]
    with tempfile.TemporaryDirectory() as folder:
        module = tf.Module(name="served")
        module.tracked = model, head
        module.assets = [
            _asset(Path(folder, f"{name}.txt"), lines)
            for name, lines in (("inputs", inputs), ("labels", labels))
            if lines
        ]
        with atomic_path(export_dir) as path:
            tf.saved_model.save(module, str(path), signatures)


def _is_saved_model(path):
    """And nothing else, or an empty folder."""
    return path.is_dir() and all(
        part.name in _PARTS_OF_A_SAVED_MODEL for part in path.iterdir()
    )


def _asset(file, lines):
    file.write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    return tf.saved_model.Asset(str(file))

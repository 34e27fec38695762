"""A model -> a folder that TensorFlow Serving and `ServedModel` load."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert.export.tf_examples import from_examples, takes_examples
from keras_bert.export.warm_up import write_warm_up
from keras_bert.io.whole_files import to_json
from keras_bert.kinds.signatures import Signature, one_graph
from keras_bert.predict.versions import DESCRIPTION, new_version


def export_saved_model(
    export_dir: str | Path,
    signatures: Mapping[str, Signature],
    *,
    tracked: Sequence[Any],
    description: Mapping[str, Any],
    assets: Mapping[str, str],
    model_card: str,
) -> Path:
    """Writes the next version of a model, such as `served/1`.

    Loading it needs tensorflow and tensorflow_text, nothing else. The folder
    appears when it is whole. It holds, beside the files of a SavedModel:

        README.md: The model card.
        assets/model.json: The description, and of each signature that takes
            texts its inputs with their ranks and `by_label`; `ServedModel`
            reads it.
        assets/: The other assets, such as the vocabulary.
        assets.extra/tf_serving_warmup_requests: Requests to each signature.

    The signature `serve_examples` is `serving_default` for serialized
    tf.Examples. Signatures of the Classify and the Regress API take nothing
    else.

    Args:
        export_dir: The folder of all versions of the model.
        signatures: The functions, by name.
        tracked: The objects whose variables and tables the functions use. A
            tf.Module must not hold a model.
        description: What `assets/model.json` says of the model.
        assets: Text files, by name.
        model_card: The text of `README.md`.

    Returns:
        The folder of the new version.
    """
    exported = {name: _with_graph(x) for name, x in signatures.items()}
    default = exported["serving_default"]
    exported |= {
        name: from_examples(signature)
        for name, signature in exported.items()
        if takes_examples(signature)
    }
    exported["serve_examples"] = from_examples(default)
    functions = {
        name: _with_graph(signature).function
        for name, signature in exported.items()
    }
    description = {**description, **describe_signatures(signatures)}
    assets = {**assets, DESCRIPTION: to_json(description)}
    with new_version(export_dir) as version:
        module = tf.Module(name="served")
        module.tracked = [_without_keras(x) for x in tracked]
        with tempfile.TemporaryDirectory() as folder:
            module.assets = [
                _asset(Path(folder, name), text)
                for name, text in assets.items()
            ]
            tf.saved_model.save(module, str(version.path), functions)
        _set_methods(version.path, exported)
        write_warm_up(version.path, signatures)
        (version.path / "README.md").write_text(model_card, encoding="utf-8")
    return version.path


def describe_signatures(signatures: Mapping[str, Signature]) -> dict[str, Any]:
    """Returns what `ServedModel` reads of the signatures that take texts."""
    return {
        "signatures": {
            name: {
                # The rank tells a list of strings from a string.
                "inputs": {x.name: x.shape.rank for x in signature.inputs},
                "by_label": signature.by_label,
            }
            for name, signature in signatures.items()
            if _takes_texts(signature)
        }
    }


def _takes_texts(signature):
    return not takes_examples(signature) and all(
        spec.dtype == tf.string for spec in signature.inputs
    )


def _with_graph(signature):
    graph = one_graph(signature.function, signature.inputs)
    return signature._replace(function=graph)


def _without_keras(tracked):
    """Replaces a model by its variables, which it wraps.

    A session, as in TensorFlow Serving, would restore the wrapped variables
    into copies that no function reads.
    """
    if isinstance(tracked, keras.Model):
        return [variable.value for variable in tracked.variables]
    return tracked


def _asset(file, text):
    file.write_text(text, encoding="utf-8", newline="\n")
    return tf.saved_model.Asset(str(file))


def _set_methods(path, signatures):
    """tf.saved_model.save gives every signature the method Predict."""
    utils = tf.compat.v1.saved_model.signature_def_utils
    updater = utils.MethodNameUpdater(str(path))
    for name, signature in signatures.items():
        updater.replace_method_name(name, signature.method)
    updater.save()

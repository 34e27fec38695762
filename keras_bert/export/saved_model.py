"""A model -> a folder that TensorFlow Serving and `ServedModel` load."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from absl import logging

from keras_bert.export.quiet import quiet
from keras_bert.io.whole_files import full_disk_named, to_json, write_texts
from keras_bert.kinds.signatures import Signature, one_graph
from keras_bert.predict.versions import DESCRIPTION, WARM_UP, new_version

# A server answers requests with these texts before it reports that a model is
# ready. The first answers are slow, because TensorFlow then optimizes its
# graphs and allocates memory. The first text is short; the second fills most of
# a sequence.
_WARM_UP_TEXTS = ("warm up", "warm up " * 60)


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

    To load the version, only tensorflow is needed, plus tensorflow_text if the
    tokenizer uses that package. The folder appears when it is complete. In
    addition to the files of a SavedModel, the folder contains:

        README.md: The model card.
        assets/model.json: The description and, for each signature that takes
            texts, its `by_label` and its inputs with their ranks.
            `ServedModel` reads this file.
        assets/: The other assets, such as the vocabulary.
        assets.extra/tf_serving_warmup_requests: Requests that a server
            answers before it reports that it is ready.

    The version also gets the signature `serve_examples`, which is like
    `serving_default`, but takes serialized tf.Examples. Classify and Regress
    signatures take only tf.Examples.

    Args:
        export_dir: The folder of all versions of the model.
        signatures: The signatures, keyed by name.
        tracked: The objects whose variables and tables the signatures use. A
            tf.Module among them must not contain a Keras model.
        description: The description in `assets/model.json`.
        assets: The texts of more files, keyed by file name.
        model_card: The text of `README.md`.

    Returns:
        The folder of the new version.
    """
    graphs = {name: _with_graph(x) for name, x in signatures.items()}
    exported = {
        name: _from_examples(x) if _takes_examples(x) else x
        for name, x in graphs.items()
    }
    exported["serve_examples"] = _from_examples(graphs["serving_default"])
    functions = {x: _with_graph(y).function for x, y in exported.items()}
    description = {**description, **describe_signatures(signatures)}
    assets = {**assets, DESCRIPTION: to_json(description)}
    with (
        full_disk_named(export_dir, tf.errors.OpError),
        new_version(export_dir) as version,
    ):
        module = tf.Module(name="served")
        # A session, as in TensorFlow Serving, would restore Keras variables
        # into copies that no function reads.
        module.tracked = [
            [y.value for y in x.variables] if isinstance(x, keras.Model) else x
            for x in tracked
        ]
        with tempfile.TemporaryDirectory() as folder:
            write_texts(Path(folder), assets)
            module.assets = [
                tf.saved_model.Asset(str(Path(folder, name))) for name in assets
            ]
            with quiet("tensorflow"):
                tf.saved_model.save(module, str(version.path), functions)
        # tf.saved_model.save gives every signature the method Predict.
        utils = tf.compat.v1.saved_model.signature_def_utils
        updater = utils.MethodNameUpdater(str(version.path))
        for name, signature in exported.items():
            updater.replace_method_name(name, signature.method)
        updater.save()
        _write_warm_up(version.path / WARM_UP, signatures)
        write_texts(version.path, {"README.md": model_card})
    return version.path


def describe_signatures(signatures: Mapping[str, Signature]) -> dict[str, Any]:
    """Returns the description of the signatures that take texts."""
    return {
        "signatures": {
            name: {
                # The rank distinguishes a list of strings from a string.
                "inputs": {x.name: x.shape.rank for x in signature.inputs},
                "by_label": signature.by_label,
            }
            for name, signature in signatures.items()
            if not _takes_examples(signature)
            and all(spec.dtype == tf.string for spec in signature.inputs)
        }
    }


def _takes_examples(signature: Signature) -> bool:
    """Returns whether a signature takes nothing but tf.Examples.

    TensorFlow Serving's Classify and Regress APIs take no other requests.
    """
    return signature.method != tf.saved_model.PREDICT_METHOD_NAME


def _with_graph(signature: Signature) -> Signature:
    graph = one_graph(signature.function, signature.inputs)
    return signature._replace(function=graph)


def _from_examples(signature: Signature) -> Signature:
    """Returns a copy of a signature that takes serialized tf.Examples instead.

    Each input of `signature` is read from the feature of the same name in the
    tf.Examples. For an input of rank 1, the feature has one string. For an
    input of rank 2, the feature has any number of strings, and the rows of the
    input are padded with "".
    """
    features = {
        x.name: tf.io.FixedLenFeature([], tf.string)
        if x.shape.rank == 1
        else tf.io.RaggedFeature(tf.string)
        for x in signature.inputs
    }

    def answer(examples: tf.Tensor) -> dict[str, tf.Tensor]:
        parsed = tf.io.parse_example(examples, features)
        inputs = [
            parsed[x.name] if x.shape.rank == 1 else parsed[x.name].to_tensor()
            for x in signature.inputs
        ]
        return signature.function(*inputs)

    name = "examples"
    if _takes_examples(signature):  # TensorFlow Serving looks for this name.
        name = tf.saved_model.CLASSIFY_INPUTS
    inputs = [tf.TensorSpec([None], tf.string, name)]
    return signature._replace(function=answer, inputs=inputs)


def _write_warm_up(file: Path, signatures: Mapping[str, Signature]) -> None:
    """Writes warm-up requests, if the extra `serve` is installed."""
    try:
        from tensorflow_serving.apis import prediction_log_pb2
    except ImportError:
        logging.warning(
            "The export has no warm-up requests, so a server's first answers "
            "will be slow; run pip install 'keras-bert-tf[serve]'."
        )
        return
    file.parent.mkdir()
    with tf.io.TFRecordWriter(str(file)) as writer:
        for name, signature in signatures.items():
            # Classify and Regress call the graph of serving_default, so they
            # need no requests of their own.
            if _takes_examples(signature):
                continue
            for text in _WARM_UP_TEXTS:
                log = prediction_log_pb2.PredictionLog()
                request = log.predict_log.request
                request.model_spec.signature_name = name
                for spec in signature.inputs:
                    is_text = spec.dtype == tf.string
                    shape = [1, 2, 2][: spec.shape.rank]
                    value = tf.fill(shape, text if is_text else 1)
                    request.inputs[spec.name].CopyFrom(
                        tf.make_tensor_proto(value, spec.dtype)
                    )
                writer.write(log.SerializeToString(deterministic=True))

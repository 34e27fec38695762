"""A version of a model, loaded and warmed up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its operations)
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    prediction_log_pb2,
)

from keras_bert.predict.versions import DESCRIPTION, WARM_UP
from keras_bert.server.batching import Batcher
from keras_bert.server.signature import Signature

_MAX_WARMUP_RECORDS = 1000  # the limit of TensorFlow Serving


class Servable:
    """A SavedModel in memory.

    Attributes:
        signatures: Maps names to a `Signature`.
        signature_defs: The SignatureDefMap of the SavedModel.
        description: What `assets/model.json` says; empty if there is none.
    """

    def __init__(self, folder: Path, key: str, batcher: Batcher):
        """Loads a SavedModel, and runs its warm-up requests.

        Raises what TensorFlow raises if anything fails.
        """
        self.signature_defs = _signature_defs(folder)
        # The model is kept: its variables live only as long as it does.
        self._model = tf.saved_model.load(str(folder), [tf.saved_model.SERVING])
        self.signatures = {
            name: Signature(
                function,
                self.signature_defs.signature_def[name].method_name,
                f"{key}/{name}",
                batcher,
            )
            for name, function in self._model.signatures.items()
        }
        self.description = _description(folder)
        for signature in self.signatures.values():
            signature.warm_up()
        _ask(self.signatures, folder / WARM_UP)


def _signature_defs(folder):
    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString((folder / "saved_model.pb").read_bytes())
    found = get_model_metadata_pb2.SignatureDefMap()
    for graph in saved_model.meta_graphs:
        if list(graph.meta_info_def.tags) == [tf.saved_model.SERVING]:
            for name, signature in graph.signature_def.items():
                found.signature_def[name].CopyFrom(signature)
    return found


def _description(folder) -> dict[str, Any]:
    file = folder / "assets" / DESCRIPTION
    if not file.is_file():
        return {}
    return json.loads(file.read_text(encoding="utf-8"))


def _ask(signatures, file):
    if not file.is_file():
        return
    records = tf.data.TFRecordDataset(str(file)).take(_MAX_WARMUP_RECORDS)
    for record in records.as_numpy_iterator():
        log = prediction_log_pb2.PredictionLog.FromString(record)
        name, columns = _request(log)
        if columns:
            signatures[name or "serving_default"].answer(columns)


def _request(log):
    """Returns the signature and the arrays of a warm-up request."""
    kind = log.WhichOneof("log_type")
    if kind == "predict_log":
        request = log.predict_log.request
        columns = {
            name: tf.make_ndarray(tensor)
            for name, tensor in request.inputs.items()
        }
        return request.model_spec.signature_name, columns
    if kind in ("classify_log", "regress_log"):
        request = getattr(log, kind).request
        return request.model_spec.signature_name, {
            "inputs": _examples(request.input)
        }
    return "", {}


def _examples(request):
    kind = request.WhichOneof("kind")
    examples = getattr(request, kind)
    context = b""
    if kind == "example_list_with_context":
        context = examples.context.SerializeToString()
    return tf.constant(
        [context + x.SerializeToString() for x in examples.examples]
    ).numpy()

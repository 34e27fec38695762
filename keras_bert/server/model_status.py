"""The status and the metadata of a model, as TensorFlow Serving writes them."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import json_format
from tensorflow_serving.apis import get_model_status_pb2, model_pb2

from keras_bert.server.refusal import Refusal
from keras_bert.server.versions import ModelVersions, Version

_OK, _UNKNOWN = 0, 2  # codes of tensorflow.error.Code


def status_json(model: ModelVersions, number: int | None) -> str:
    """Returns a GetModelStatusResponse: of all versions, or of one."""
    versions = [v for v in model.versions() if number in (None, v.number)]
    if not versions:
        what = "any versions" if number is None else f"version {number}"
        raise Refusal(404, f"Could not find {what} of model {model.name}")
    response = get_model_status_pb2.GetModelStatusResponse()
    for version in versions:
        status = response.model_version_status.add(
            version=version.number, state=version.state
        )
        status.status.error_code = _UNKNOWN if version.error else _OK
        status.status.error_message = version.error
    return json.dumps(_to_dict(response))


def metadata_json(model: ModelVersions, version: Version) -> str:
    """Returns a GetModelMetadataResponse.

    As TensorFlow Serving does, without the @type that JSON has for an Any.
    """
    spec = model_pb2.ModelSpec(name=model.name)
    spec.version.value = version.number
    signatures = version.servable.signature_defs
    return json.dumps(
        {
            "model_spec": _to_dict(spec),
            "metadata": {"signature_def": _to_dict(signatures)},
        }
    )


def _to_dict(message) -> dict[str, Any]:
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )

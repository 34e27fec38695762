"""OpenAI's REST API: vectors of texts, and descriptions of the models."""

import base64
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from starlette.requests import Request

from keras_bert.predict.function import Columns
from keras_bert.server.contract import Call, Contract, Values
from keras_bert.server.contracts.vectors import call_for_vectors
from keras_bert.server.json_values import write_json, write_list
from keras_bert.server.refusal import Refusal
from keras_bert.server.state import ServerState

_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}


def _read_embeddings(values: Values, servable: Any) -> Call:
    def write(vectors: np.ndarray, outputs: Columns) -> str:
        written: Iterable[Any] = vectors.tolist()
        if values.get("encoding_format") == "base64":
            rows = vectors.astype("<f4")
            written = [base64.b64encode(x.tobytes()).decode() for x in rows]
        num_tokens = int(np.sum(outputs.get("num_tokens", 0)))
        usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
        data = [
            {"object": "embedding", "index": i, "embedding": vector}
            for i, vector in enumerate(written)
        ]
        if "truncated" in outputs:  # not part of OpenAI's API
            for row, truncated in zip(data, outputs["truncated"], strict=True):
                row["truncated"] = bool(truncated)
        rest = write_json({"model": values["model"], "usage": usage})
        return f'{{"object": "list", "data": {write_list(data)}, {rest[1:]}'

    return call_for_vectors(
        values, values["input"], servable, write, may_cut=True
    )


def _models(request: Request, server: ServerState) -> str:
    data = [describe_model(name, server) for name in server.models]
    return json.dumps({"object": "list", "data": data})


def describe_model(name: str, server: ServerState) -> dict[str, Any]:
    """Returns OpenAI's description of a model."""
    values = {"id": name, "object": "model", "created": server.started}
    return values | {"owned_by": "keras_bert"}


def is_sdk(request: Request) -> bool:
    """Returns whether an OpenAI SDK sent a request.

    An SDK reads only answers in OpenAI's form. The path of a request does not
    show which form is expected, because OpenAI and TensorFlow Serving have the
    same path for a model.
    """
    return "x-stainless-lang" in request.headers


def write_error(refusal: Refusal) -> dict[str, Any]:
    """Returns the JSON value of an error in OpenAI's form."""
    is_ours = refusal.status >= 500
    error = {
        "message": refusal.sentence,
        "type": "server_error" if is_ours else "invalid_request_error",
        "param": None,
        "code": _CODES.get(refusal.status),
    }
    return {"error": error}


CONTRACT = Contract(
    {"POST /v1/embeddings": _read_embeddings, "GET /v1/models": _models},
    write_error,
)

"""The REST API of text-embeddings-inference."""

import json
from typing import Any

import numpy as np
from starlette.requests import Request

from keras_bert.predict.function import Columns
from keras_bert.server.contract import Call, Contract, Forward, Values
from keras_bert.server.contracts.cohere import read_rerank
from keras_bert.server.contracts.tokenization import read_tokenize
from keras_bert.server.contracts.vectors import call_for_vectors, normalized
from keras_bert.server.json_values import write_list
from keras_bert.server.state import ServerState


def _path_of(values: Values) -> str:
    """Returns the path of the route that answers a body sent to `POST /`."""
    if "query" in values:
        return "/rerank"
    return "/similarity" if isinstance(values.get("inputs"), dict) else "/embed"


def _read_embed(values: Values, servable: Any) -> Call:
    def write(vectors: np.ndarray, outputs: Columns) -> str:
        is_raw = values.get("normalize") is False
        return write_list((vectors if is_raw else normalized(vectors)).tolist())

    may_cut = bool(values.get("truncate"))
    return call_for_vectors(values, values["inputs"], servable, write, may_cut)


def _read_similarity(values: Values, servable: Any) -> Call:
    """Returns the call for the cosines between one text and other texts."""
    inputs, settings = values["inputs"], values.get("parameters") or {}
    texts = [inputs["source_sentence"], *inputs["sentences"]]

    def write(vectors: np.ndarray, outputs: Columns) -> str:
        first, *others = normalized(vectors)
        return write_list(np.array(others).dot(first).tolist())

    may_cut = bool(settings.get("truncate"))
    return call_for_vectors(settings, texts, servable, write, may_cut)


def _info(request: Request, server: ServerState) -> str:
    """Returns a model's description, including keys not in the original API."""
    model = server.model_named(request, None)
    with model.use() as version:
        description = version.servable.description
        labels = dict(enumerate(description.get("labels", ())))
        kind = description.get("kind", "unknown")
        return json.dumps(
            {
                "model_id": model.name,
                "model_version": version.number,
                "model_type": {kind: {"id2label": labels}},
                "max_input_length": description.get("max_seq_length"),
                "prompts": description.get("prompts", {}),
                "max_client_batch_size": server.config.max_texts,
                "max_concurrent_requests": server.config.max_connections,
                "auto_truncate": False,
            }
        )


CONTRACT = Contract(
    {
        "POST /": Forward(_path_of),
        "POST /embed": _read_embed,
        "POST /similarity": _read_similarity,
        "POST /rerank": read_rerank,
        "POST /tokenize": read_tokenize,
        "GET /info": _info,
    }
)

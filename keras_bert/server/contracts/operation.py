"""The routes for operators: health, counters and openapi.json."""

import json

from starlette.requests import Request
from starlette.responses import Response

from keras_bert.server.contract import Contract
from keras_bert.server.metrics import CONTENT_TYPE
from keras_bert.server.refusal import Refusal
from keras_bert.server.routes import OPENAPI
from keras_bert.server.state import ServerState


def _alive(request: Request, server: ServerState) -> str:
    return '{"status": "alive"}'


def _ready(request: Request, server: ServerState) -> str:
    """Returns the status "ready", and the models whose stores fail.

    Raises Refusal if a model is not loaded, or if the server is stopping.
    """
    if server.is_stopping:
        raise Refusal("The server is shutting down.", 503)
    failed = {
        name: f"{model.store_error}, {model.failed_polls} times"
        for name, model in server.models.items()
        if model.store_error
    }
    for name, model in server.models.items():
        if not model.is_ready():
            why = "it is still being loaded"
            if not model.is_loading():
                why = "the server's log has more"
            reason = failed.get(name, why)
            raise Refusal(f"The model {name} is not loaded ({reason}).", 503)
    polls = {"failed_polls": failed} if failed else {}
    return json.dumps({"status": "ready", **polls})


def _metrics(request: Request, server: ServerState) -> Response:
    return Response(server.metrics.text(), media_type=CONTENT_TYPE)


def _openapi(request: Request, server: ServerState) -> str:
    return OPENAPI


CONTRACT = Contract(
    {
        "GET /healthz": _alive,
        "GET /readyz": _ready,
        "GET /monitoring/prometheus/metrics": _metrics,
        "GET /openapi.json": _openapi,
    }
)

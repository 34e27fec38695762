"""Around every request: the key, errors as JSON, a log line, the counters."""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Collection

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from keras_bert.server.json_logs import frames_of, log
from keras_bert.server.metrics import Metrics
from keras_bert.server.refusal import Refusal

EMBEDDINGS = "/v1/embeddings"
_CLIENT_LEFT = 499  # nginx logs such requests with this status
_BEGIN = "http.response.start"
_CLOSE = (b"connection", b"close")
_OPENAI_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}


class Answering:
    """ASGI middleware.

    `open_paths` need no key. They, the routes and the errors all go by
    `scope["path"]`; `request.url` also depends on the header Host.

    The routes write into `scope["record"]`: what it holds is logged. `route`
    and `model` must be names that the server knows, not what a client wrote.
    """

    def __init__(
        self,
        app,
        metrics: Metrics,
        api_key: str | None,
        open_paths: Collection[str],
        is_stopping: Callable[[], bool],
    ):
        self._app = app
        self._is_stopping = is_stopping
        self._metrics = metrics
        self._api_key = api_key
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        record = scope["record"] = {"route": "", "model": ""}
        start = time.monotonic()
        status = _CLIENT_LEFT

        async def send_and_note(message):
            nonlocal status
            status = message.get("status", status)
            if self._is_stopping() and message["type"] == _BEGIN:
                # A later request on this connection would be lost.
                headers = [*message.get("headers", ()), _CLOSE]
                message = {**message, "headers": headers}
            await send(message)

        try:
            self._check_key(scope)
            await self._app(scope, receive, send_and_note)
        except ClientDisconnect:
            pass
        except Refusal as refusal:
            response = _error(scope["path"], refusal)
            await response(scope, receive, send_and_note)
        except Exception as error:
            log("error", type=type(error).__name__, frames=frames_of(error))
            response = _error(
                scope["path"],
                Refusal(500, "An internal error; the server's log has more."),
            )
            await response(scope, receive, send_and_note)
        finally:
            seconds = time.monotonic() - start
            log(
                "request",
                method=scope["method"],
                **record,
                status=status,
                seconds=round(seconds, 6),
            )
            self._metrics.count_request(
                record["model"], record["route"], status, seconds
            )

    def _check_key(self, scope):
        if self._api_key is None or scope["path"] in self._open_paths:
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, key = given.partition(b" ")
        # In constant time: its duration must not tell how much is right.
        is_right = hmac.compare_digest(key.strip(), self._api_key.encode())
        if scheme.lower() != b"bearer" or not is_right:
            raise Refusal(
                401,
                "This server needs a key: send the header "
                "'Authorization: Bearer KEY'.",
                {"WWW-Authenticate": "Bearer"},
            )


def _error(path, refusal):
    error = refusal.sentence
    if path == EMBEDDINGS:
        error = {
            "message": refusal.sentence,
            "type": "server_error"
            if refusal.status >= 500
            else "invalid_request_error",
            "param": None,
            "code": _OPENAI_CODES.get(refusal.status),
        }
    return Response(
        json.dumps({"error": error}),
        refusal.status,
        refusal.headers,
        "application/json",
    )

"""A request -> its route, its answer, a line of the log, the counters."""

import asyncio
import functools
import hmac
import inspect
import json
import mimetypes
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Router

from keras_bert.errors import InputError
from keras_bert.server import json_requests, model_status, vector_requests
from keras_bert.server.batching import Batcher
from keras_bert.server.config import ServerConfig
from keras_bert.server.json_logs import frames_of, log
from keras_bert.server.limits import Limits
from keras_bert.server.metrics import CONTENT_TYPE, Metrics
from keras_bert.server.refusal import Refusal
from keras_bert.server.routes import Route, Routes
from keras_bert.server.tokenization import read_tokenize
from keras_bert.server.versions import ModelVersions, not_servable

_OPENAI = ("/v1/embeddings", "/v1/models")
_OPENAI_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
}
# How the body of a request is read, by the name of its route.
_READERS: dict[str, Callable[[dict, Any], json_requests.Call]] = {
    "predict": json_requests.read_predict,
    "classify": functools.partial(json_requests.read_examples, "classify"),
    "regress": functools.partial(json_requests.read_examples, "regress"),
    "embeddings": vector_requests.read_embeddings,
    "embed": vector_requests.read_embed,
    "similarity": vector_requests.read_similarity,
    "rerank": vector_requests.read_rerank,
    "tokenize": read_tokenize,
}
# JSON of so many bytes or values takes milliseconds: a thread does it.
_LARGE = 50_000
_PAGE = Path(__file__).parent / "page"
# Only these files are served, whatever a path says.
_PAGE_FILES = {f"/page/{file.name}": file for file in _PAGE.iterdir()}
_PAGE_FILES |= {"/": _PAGE / "index.html", "/docs": _PAGE / "docs.html"}
_PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class App:
    """Answers requests to models, as an ASGI application.

    The key, the route and the form of errors are all found by `scope["path"]`;
    `request.url` also depends on the header Host.

    Attributes:
        is_stopping: Whether /readyz says that the server is about to end.
        num_cut_off: How many requests were not answered before the end.
    """

    def __init__(
        self,
        models: Mapping[str, ModelVersions],
        config: ServerConfig,
        api_key: str | None = None,
    ):
        self.is_stopping = False
        self.num_cut_off = 0
        self._models = models
        self._api_key = api_key
        self._limits = Limits(config)
        self._metrics = Metrics(self._limits, models.values())
        self._config = config
        self._batcher = Batcher(config)
        self._json_thread = ThreadPoolExecutor(1)
        self._other_protocols = Router()
        self._started = int(time.time())
        self._routes = Routes(
            {
                "/page/models": Route("page_models"),
                **dict.fromkeys(_PAGE_FILES, Route("page", needs_key=False)),
            },
            models,
        )
        # Each takes a request and what is logged of it, and returns a response
        # or JSON, perhaps as an awaitable.
        self._answers: dict[str, Callable[[Request, dict], Any]] = {
            "": self._refuse_path,
            **{name: self._ask for name in ("root", *_READERS)},
            "healthz": lambda *_: '{"status": "alive"}',
            "readyz": self._ready,
            "metrics": lambda *_: Response(
                self._metrics.text(), media_type=CONTENT_TYPE
            ),
            "openapi": lambda *_: self._routes.openapi,
            "models": lambda *_: model_status.openai_json(
                models, self._started
            ),
            "status": self._status,
            "metadata": self._metadata,
            "info": self._info,
            "page": _page_file,
            "page_models": lambda *_: model_status.page_json(models),
        }

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            response = await self._respond(Request(scope, receive))
            await response(scope, receive, send)
        else:
            await self._other_protocols(scope, receive, send)

    def close(self) -> None:
        """Drops what still waits for the models."""
        self._batcher.close()
        self._json_thread.shutdown(wait=False, cancel_futures=True)

    async def _respond(self, request: Request) -> Response:
        """Finds the route and its answer, or makes an error of what failed."""
        method = request.method
        route, names = self._routes.find(method, request.scope["path"])
        request.scope.update(path_params=names, schema=route.schema)
        # Holds only names that the server knows, not what a client wrote.
        record: dict[str, Any] = {"route": route.name, "model": ""}
        start = time.monotonic()
        try:
            if route.needs_key:
                self._check_key(request)
            answer = self._answers[route.name](request, record)
            if inspect.isawaitable(answer):
                answer = await answer
        except (Exception, asyncio.CancelledError) as error:
            answer = _error_response(
                _is_openai(request), self._refusal_of(error)
            )
        if isinstance(answer, str):
            no_store = {"Cache-Control": "no-store"}
            answer = Response(answer, 200, no_store, "application/json")
        if self.is_stopping:
            # A later request on this connection would be lost.
            answer.headers["Connection"] = "close"
        status, seconds = answer.status_code, time.monotonic() - start
        record |= {"status": status, "seconds": round(seconds, 6)}
        log("request", method=method, **record)
        self._metrics.count_request(
            record["model"], record["route"], status, seconds
        )
        return answer

    def _check_key(self, request):
        if self._api_key is None:
            return
        given = dict(request.scope["headers"]).get(b"authorization", b"")
        scheme, _, key = given.partition(b" ")
        # In constant time: its duration must not tell how much is right.
        is_right = hmac.compare_digest(key.strip(), self._api_key.encode())
        if scheme.lower() != b"bearer" or not is_right:
            raise Refusal(
                "This server needs a key: send the header "
                "'Authorization: Bearer KEY'.",
                401,
                {"WWW-Authenticate": "Bearer"},
            )

    def _refusal_of(self, error):
        if isinstance(error, Refusal):
            return error
        if isinstance(error, ClientDisconnect):
            # nginx logs such requests with this status.
            return Refusal("The client has left.", 499)
        if isinstance(error, asyncio.CancelledError):
            self.num_cut_off += 1
            return Refusal(
                "The server shut down before it answered; try again.", 503
            )
        log("error", type=type(error).__name__, frames=frames_of(error))
        return Refusal("An internal error; the server's log has more.", 500)

    def _ready(self, request, record):
        if self.is_stopping:
            raise Refusal("The server is about to end.", 503)
        return model_status.readiness_json(self._models)

    def _status(self, request, record):
        names = request.path_params
        if _is_openai(request):
            name = self._model_named(names["model"], record).name
            return model_status.openai_model_json(name, self._started)
        if names["model"] not in self._models:
            return model_status.status_json(names["model"][:100], [], None)
        model, number = self._model_in_path(names, record)
        return model_status.status_json(model.name, model.versions(), number)

    def _metadata(self, request, record):
        model, number = self._model_in_path(request.path_params, record)
        with model.use(number) as version:
            return model_status.metadata_json(model.name, version)

    def _info(self, request, record):
        model = self._model_named(request.query_params.get("model"), record)
        with model.use() as version:
            return model_status.info_json(model.name, version, self._config)

    async def _ask(self, request, record):
        """Answers what a model must compute."""
        names, number = request.path_params, None
        if names:
            model, number = self._model_in_path(names, record)
        async with self._limits.body(request) as body:
            values = await self._soon(len(body), json_requests.read_json, body)
            if not names:
                name = request.query_params.get("model")
                model = self._model_named(values.get("model", name), record)
                values["model"] = model.name
                schema = request.scope["schema"]
                if record["route"] == "root":
                    path = vector_requests.path_of(values)
                    route, _ = self._routes.find("POST", path)
                    record["route"], schema = route.name, route.schema
                self._routes.check(values, schema, "The body")
            return await self._call(
                request, len(body), values, model, number, record
            )

    def _model_in_path(self, names, record):
        """Returns the model, and the number of a version or None."""
        model = self._models.get(names["model"])
        number = int(names["version"]) if names["version"] else None
        if model is None:
            raise not_servable(names["model"][:100], number)
        record["model"] = model.name
        label = names["label"]
        return model, model.number_of(label) if label else number

    def _model_named(self, name, record):
        """Returns the model; a server with one model needs no name."""
        if name is None and len(self._models) == 1:
            (name,) = self._models
        model = self._models.get(name) if isinstance(name, str) else None
        known = ", ".join(self._models)
        if name is None:
            raise Refusal(
                f"This server has the models {known}; name one as model.", 404
            )
        if model is None:
            raise Refusal(
                f"The model {json_requests.shown(name)} does not exist; this "
                f"server has {known}.",
                404,
            )
        record["model"] = model.name
        return model

    def _refuse_path(self, request, record):
        method, path = request.method, request.scope["path"]
        if path.lower().startswith("/v1/"):
            raise Refusal(f"Malformed request: {method} {path[:200]}")
        raise Refusal(f"Nothing takes {method} {path[:200]}; see /docs.", 404)

    async def _call(self, request, size, values, model, number, record):
        """Asks a version of a model, and returns JSON."""
        with model.use(number) as version:
            record["version"] = version.number
            name, signature, columns, write = await self._soon(
                size, _READERS[record["route"]], values, version.servable
            )
            record["signature"] = name
            with self._limits.texts(columns) as record["texts"]:
                submitted = time.monotonic()
                parts = signature.split(columns, self._config.max_batch_size)
                answer = self._batcher.answer(parts)
                answered = await _unless_client_leaves(request, answer)
            for part in answered:
                if isinstance(part, InputError):
                    raise Refusal(str(part))
                if isinstance(part, BaseException):
                    raise part
                self._metrics.count_answer(model.name, name, submitted, part)
            outputs = signature.join(answered)
            size = sum(x.size for x in outputs.values())
            return await self._soon(size, write, outputs)

    async def _soon(self, size: int, function, *args) -> Any:
        """Calls a function: here, or in a thread if it takes long."""
        if size < _LARGE:
            return function(*args)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._json_thread, function, *args)


async def _unless_client_leaves(request, answer):
    """Awaits a future, or cancels it and raises ClientDisconnect."""

    async def client_leaves():
        while (await request.receive())["type"] != "http.disconnect":
            pass

    leaving = asyncio.ensure_future(client_leaves())
    leaving.add_done_callback(lambda _: answer.cancel())
    try:
        return await answer
    except asyncio.CancelledError:
        if leaving.done():
            raise ClientDisconnect from None
        raise
    finally:
        leaving.cancel()


def _page_file(request, record):
    file = _PAGE_FILES[request.scope["path"]]
    media_type, _ = mimetypes.guess_type(file)
    return Response(file.read_bytes(), 200, _PAGE_HEADERS, media_type)


def _is_openai(request):
    """Returns whether a client has OpenAI's forms, by the path or its SDK.

    The path of a model is one of TensorFlow Serving's too.
    """
    is_sdk = "x-stainless-lang" in request.headers
    return is_sdk or request.scope["path"] in _OPENAI


def _error_response(is_openai, refusal):
    error: Any = refusal.sentence
    if is_openai:
        is_ours = refusal.status >= 500
        error = {
            "message": refusal.sentence,
            "type": "server_error" if is_ours else "invalid_request_error",
            "param": None,
            "code": _OPENAI_CODES.get(refusal.status),
        }
    body = json.dumps({"error": error})
    return Response(body, refusal.status, refusal.headers, "application/json")

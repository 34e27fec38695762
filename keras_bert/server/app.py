"""The routes of the server."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import prometheus_client
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_bert.server import page
from keras_bert.server.answering import EMBEDDINGS, Answering
from keras_bert.server.batching import Columns
from keras_bert.server.config import ServerConfig
from keras_bert.server.embeddings import (
    read_texts,
    write_embeddings,
)
from keras_bert.server.examples import (
    check_method,
    read_examples,
    write_classes,
    write_values,
)
from keras_bert.server.json_answers import (
    write_columns,
    write_results,
    write_rows,
)
from keras_bert.server.json_requests import (
    read_columns,
    read_json,
    read_signature_name,
    shown,
)
from keras_bert.server.limits import Limits
from keras_bert.server.metrics import Metrics
from keras_bert.server.model_status import metadata_json, status_json
from keras_bert.server.refusal import Refusal
from keras_bert.server.signature import Signature, refusal_of
from keras_bert.server.versions import ModelVersions, Version

_PATH = re.compile(
    "/v1/models(?:/([^/:]+))?(?:/versions/([0-9]+)|/labels/([^/:]+))?"
    "(?:/(metadata)|:(classify|regress|predict))?",
    re.IGNORECASE | re.ASCII,
)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# JSON of so many bytes or values takes milliseconds: a thread does it.
_LARGE = 50_000


class App:
    """Answers requests to models.

    Attributes:
        asgi: The ASGI application.
        is_stopping: Whether /readyz says that the server is about to end.
    """

    def __init__(
        self,
        models: Mapping[str, ModelVersions],
        config: ServerConfig,
        api_key: str | None = None,
    ):
        self.is_stopping = False
        self._models = models
        self._limits = Limits(config)
        self._metrics = Metrics()
        self._metrics.show(
            "waiting_texts",
            "Texts that wait or are being answered.",
            lambda: self._limits.waiting_texts,
        )
        self._metrics.show(
            "waiting_bytes",
            "Bytes of all bodies in the server.",
            lambda: self._limits.waiting_bytes,
        )
        self._metrics.show_failed_polls(models.values())
        self._callers = ThreadPoolExecutor(config.num_request_threads)
        self._json_thread = ThreadPoolExecutor(1)
        self.asgi = Starlette(
            routes=[
                Route("/healthz", self._alive),
                Route("/readyz", self._ready),
                Route("/monitoring/prometheus/metrics", self._show_metrics),
                Route(EMBEDDINGS, self._embed, methods=["POST"]),
                *page.routes(models),
                Route("/{path:path}", self._model, methods=_METHODS),
            ],
            exception_handlers={HTTPException: _refuse},
            middleware=[
                Middleware(
                    Answering,
                    metrics=self._metrics,
                    api_key=api_key,
                    open_paths=["/healthz", "/readyz", *page.FILES],
                    is_stopping=lambda: self.is_stopping,
                )
            ],
        )

    def close(self) -> None:
        """Drops what still waits for the models."""
        self._callers.shutdown(wait=False, cancel_futures=True)
        self._json_thread.shutdown(wait=False, cancel_futures=True)

    async def _alive(self, request: Request) -> Response:
        request.scope["record"]["route"] = "healthz"
        return _json_response('{"status": "alive"}')

    async def _ready(self, request: Request) -> Response:
        request.scope["record"]["route"] = "readyz"
        if self.is_stopping:
            raise Refusal(503, "The server is about to end.")
        failed = {
            model.name: f"{model.store_error}, {model.failed_polls} times"
            for model in self._models.values()
            if model.store_error
        }
        for model in self._models.values():
            if not model.is_ready():
                why = "."
                if model.name in failed:
                    why = (
                        ", because its folder cannot be read "
                        f"({failed[model.name]}); the server's log has more, "
                        "and the server tries again."
                    )
                raise Refusal(
                    503, f"The model {model.name} is not loaded{why}", _RETRY
                )
        polls = {"failed_polls": failed} if failed else {}
        return _json_response(json.dumps({"status": "ready", **polls}))

    async def _show_metrics(self, request: Request) -> Response:
        request.scope["record"]["route"] = "metrics"
        return Response(
            self._metrics.text(),
            media_type=prometheus_client.CONTENT_TYPE_LATEST,
        )

    async def _model(self, request: Request) -> Response:
        """Answers TensorFlow Serving's requests."""
        path = request.scope["path"]
        record = request.scope["record"]
        if not path.lower().startswith("/v1/"):
            raise Refusal(404, "There is nothing here; see the README.")
        match = _PATH.fullmatch(path)
        verb = match and match[5]
        if match is None or request.method not in (
            ("POST",) if verb else ("GET", "HEAD")
        ):
            raise Refusal(
                400, f"Malformed request: {request.method} {path[:200]}"
            )
        name, number, label, metadata, _ = match.groups()
        if name is None:
            raise Refusal(400, "Missing model name in request.")
        if number and (len(number) > 19 or int(number) >= 2**63):
            raise Refusal(
                400, f"Failed to convert version: {number[:100]} to numeric."
            )
        wanted = int(number) if number else None
        model = self._models.get(name)
        if model is None:
            raise Refusal(404, _not_found(name[:100], wanted, verb or metadata))
        record.update(
            model=model.name,
            route=(verb or metadata or "status").lower(),
        )
        if not verb and not metadata:
            if label:
                wanted = model.number_of(label)
            return _json_response(status_json(model, wanted))
        with model.use(wanted, label) as version:
            record["version"] = version.number
            if metadata:
                return _json_response(metadata_json(model, version))
            return await self._call(request, version, record)

    async def _call(self, request, version, record):
        """Answers predict, classify and regress."""
        route = record["route"]
        async with self._limits.body(request) as body:
            name, columns, by_row = await self._soon(
                len(body), _read, body, version, route
            )
            outputs = await self._answer(version, name, columns, record)
            size = sum(x.size for x in outputs.values())
            return _json_response(
                await self._soon(
                    size, _write, outputs, route, by_row, record["texts"]
                )
            )

    async def _embed(self, request: Request) -> Response:
        """Answers OpenAI's requests for embeddings."""
        record = request.scope["record"]
        record["route"] = "embeddings"
        async with self._limits.body(request) as body:
            values = await self._soon(len(body), read_json, body)
            name = values.get("model")
            model = self._models.get(name) if isinstance(name, str) else None
            if model is None:
                raise Refusal(
                    404,
                    f"The model {shown(name)} does not exist; this server has "
                    f"{', '.join(self._models)}.",
                )
            record["model"] = model.name
            with model.use() as version:
                record["version"] = version.number
                signature, columns = await self._soon(
                    len(body), read_texts, values, version
                )
                outputs = await self._answer(
                    version, signature, columns, record
                )
                size = sum(x.size for x in outputs.values())
                return _json_response(
                    await self._soon(
                        size, write_embeddings, values, version, outputs
                    )
                )

    async def _answer(
        self, version: Version, name: str, columns: Columns, record: dict
    ) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature for all rows of a request."""
        signature: Signature = version.servable.signatures[name]
        record["signature"] = name
        with self._limits.texts(columns) as size:
            record["texts"] = size
            submitted = time.time()
            loop = asyncio.get_running_loop()
            answered = await asyncio.gather(
                *(
                    loop.run_in_executor(self._callers, part)
                    for part in signature.parts(columns)
                ),
                return_exceptions=True,
            )
        parts = []
        for part in answered:
            if isinstance(part, BaseException):
                raise refusal_of(part) or part
            self._metrics.count_answer(record["model"], name, submitted, part)
            parts.append(part)
        return signature.join(parts)

    async def _soon(self, size: int, function, *args) -> Any:
        """Calls a function: here, or in a thread if it takes long."""
        if size < _LARGE:
            return function(*args)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._json_thread, function, *args)


_RETRY = {"Retry-After": "1"}


async def _refuse(request, error):
    """Gives Starlette's own errors, such as 405, the form of all others."""
    raise Refusal(error.status_code, f"{error.detail}.", error.headers)


def _json_response(text: str) -> Response:
    return Response(text, media_type="application/json")


def _not_found(name, number, is_call):
    if not is_call:
        what = "any versions" if number is None else f"version {number}"
        return f"Could not find {what} of model {name}"
    which = (
        f"Latest({name})" if number is None else f"Specific({name}, {number})"
    )
    return f"Servable not found for request: {which}"


def _read(body, version, route):
    """Returns the signature, its inputs, and whether `instances` held them."""
    values = read_json(body)
    name = read_signature_name(values)
    signatures = version.servable.signatures
    if name not in signatures:
        raise Refusal(
            400,
            f"Serving signature name: {json.dumps(name[:100])} not found in "
            f"signature def; this model has {', '.join(signatures)}.",
        )
    signature = signatures[name]
    if route == "predict":
        columns = read_columns(values, signature.inputs)
        return name, columns, "instances" in values
    check_method(route, signature)
    return name, {"inputs": read_examples(values)}, True


def _write(outputs, route, by_row, size):
    if route == "classify":
        return write_results(write_classes(outputs, size))
    if route == "regress":
        return write_results(write_values(outputs, size))
    return write_rows(outputs) if by_row else write_columns(outputs)

"""A request -> an answer, a line in the log, and updated counters."""

import asyncio
import hmac
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Router

from keras_bert.errors import InputError
from keras_bert.server import json_values
from keras_bert.server.batching import Batcher
from keras_bert.server.config import ServerConfig
from keras_bert.server.contract import Call, Forward
from keras_bert.server.contracts import CONTRACTS, openai
from keras_bert.server.json_logs import frames_of, log
from keras_bert.server.refusal import Refusal
from keras_bert.server.routes import Route, Routes
from keras_bert.server.rows import join_rows, split_rows
from keras_bert.server.state import ServerState
from keras_bert.server.versions import ModelVersions

# JSON of this many bytes or values takes milliseconds, so a thread reads or
# writes it.
_LARGE = 50_000


class App:
    """Answers requests to models, as an ASGI application.

    The path in `scope["path"]` decides three things about a request: its route,
    the form of its errors, and whether it needs a key. `request.url` does not,
    because it also contains the Host header, which the client chooses.

    Attributes:
        state: The models, limits and counters that the routes share.
        num_cut_off: The number of requests that were not answered before the
            server ended.
    """

    def __init__(
        self,
        models: dict[str, ModelVersions],
        config: ServerConfig,
        api_key: str | None = None,
    ):
        self.state = ServerState(models, config)
        self.num_cut_off = 0
        self._api_key = api_key
        self._routes = Routes(CONTRACTS, models)
        self._batcher = Batcher(config)
        self._json_thread = ThreadPoolExecutor(1)
        self._other_protocols = Router()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            response = await self._respond(Request(scope, receive))
            await response(scope, receive, send)
        else:
            await self._other_protocols(scope, receive, send)

    def close(self) -> None:
        """Drops the requests that are still waiting for the models."""
        self._batcher.close()
        self._json_thread.shutdown(wait=False, cancel_futures=True)

    async def _respond(self, request: Request) -> Response:
        """Returns the response to a request: an answer or an error."""
        method = request.method
        route, names = self._routes.find(method, request.scope["path"])
        # The record has only names that the server knows, and no client's text.
        record: dict[str, Any] = {"route": route.name, "model": ""}
        request.scope.update(path_params=names, record=record)
        start = time.monotonic()
        answer: Any
        try:
            if route.needs_key:
                self._check_key(request)
            if route.answer is None:
                raise _no_route(method, request.scope["path"])
            if method == "POST":
                answer = await self._compute(request, route, record)
            else:
                answer = route.answer(request, self.state)
        except (Exception, asyncio.CancelledError) as error:
            answer = self._error_response(request, route, error)
        if isinstance(answer, str):
            no_store = {"Cache-Control": "no-store"}
            answer = Response(answer, 200, no_store, "application/json")
        if self.state.is_stopping:
            # A later request on this connection would be lost.
            answer.headers["Connection"] = "close"
        record["status"] = answer.status_code
        record["seconds"] = round(time.monotonic() - start, 6)
        log("request", method=method, **record)
        self.state.metrics.count_request(record)
        return answer

    def _check_key(self, request: Request) -> None:
        if self._api_key is None:
            return
        given = dict(request.scope["headers"]).get(b"authorization", b"")
        scheme, _, key = given.partition(b" ")
        # The comparison takes constant time, so that its duration does not show
        # how much of the key is right.
        is_right = hmac.compare_digest(key.strip(), self._api_key.encode())
        if scheme.lower() != b"bearer" or not is_right:
            raise Refusal(
                "This server needs a key: send the header "
                "'Authorization: Bearer KEY'.",
                401,
                {"WWW-Authenticate": "Bearer"},
            )

    async def _compute(
        self, request: Request, route: Route, record: dict[str, Any]
    ) -> str:
        """Returns a model's answer to the body of a request, as JSON."""
        state, number = self.state, None
        is_in_path = bool(request.path_params)
        if is_in_path:
            model, number = state.model_in_path(request)
        async with state.limits.body(request) as body:
            size = len(body)
            values = await self._run(size, json_values.read_json, body)
            if not is_in_path:
                model = state.model_named(request, values.get("model"))
            if isinstance(route.answer, Forward):
                path = route.answer.path_of(values)
                route, _ = self._routes.find("POST", path)
                record["route"] = route.name
            if route.schema is not None:
                self._routes.check(values, route.schema, "The body")
            values["model"] = model.name
            with model.use(number) as version:
                record["version"] = version.number
                servable = version.servable
                call = await self._run(size, route.answer, values, servable)
                record["signature"] = call.name
                with state.limits.texts(call.columns) as record["texts"]:
                    outputs = await self._outputs(request, model.name, call)
                size = sum(x.size for x in outputs.values())
                return await self._run(size, call.write, outputs)

    async def _outputs(self, request: Request, model: str, call: Call) -> Any:
        """Returns the outputs of a call, batched with those of other calls."""
        submitted = time.monotonic()
        most = self.state.config.max_batch_size
        parts = split_rows(call.function, call.columns, most)
        answer = self._batcher.answer(parts)
        answered = await _unless_client_leaves(request, answer)
        for part in answered:
            if isinstance(part, InputError):
                raise Refusal(str(part))
            if isinstance(part, BaseException):
                raise part
            self.state.metrics.count_answer(model, call.name, submitted, part)
        return join_rows(call.function, answered)

    async def _run(self, size: int, function: Callable, *args: Any) -> Any:
        """Returns a function's result; uses a thread if `size` is large."""
        if size < _LARGE:
            return function(*args)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._json_thread, function, *args)

    def _error_response(
        self, request: Request, route: Route, error: BaseException
    ) -> Response:
        if isinstance(error, Refusal):
            refusal = error
        elif isinstance(error, ClientDisconnect):
            # nginx logs such requests with this status.
            refusal = Refusal("The client has left.", 499)
        elif isinstance(error, asyncio.CancelledError):
            self.num_cut_off += 1
            refusal = Refusal(
                "The server shut down before it answered; try again.", 503
            )
        else:
            log("error", type=type(error).__name__, frames=frames_of(error))
            refusal = Refusal(
                "An internal error occurred; see the server's log.", 500
            )
        is_sdk = openai.is_sdk(request)
        contract = openai.CONTRACT if is_sdk else route.contract
        return Response(
            json.dumps(contract.write_error(refusal)),
            refusal.status,
            refusal.headers,
            "application/json",
        )


async def _unless_client_leaves(
    request: Request, answer: asyncio.Future[Any]
) -> Any:
    """Returns the answer of a future, unless the client leaves first.

    If the client leaves, cancels the future and raises ClientDisconnect.
    """

    async def client_leaves() -> None:
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


def _no_route(method: str, path: str) -> Refusal:
    if path.lower().startswith("/v1/"):
        return Refusal(f"Malformed request: {method} {path[:200]}")
    return Refusal(f"There is no route {method} {path[:200]}; see /docs.", 404)

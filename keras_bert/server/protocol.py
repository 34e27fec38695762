"""uvicorn's HTTP protocol, with limits for slow and greedy clients."""

import json
from asyncio import TimerHandle
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keras_bert.server.config import ServerConfig

_MAX_HEAD_BYTES = 65_536
# The application ends a slow request after `client_seconds`, and answers with a
# message. The protocol waits this much longer before it closes the connection.
_LATER_SECONDS = 5


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose client is too slow or sends endless headers.

    uvicorn itself limits neither the time that a request takes to arrive, nor
    the time that a client takes to read its answer.
    """

    def __init__(self, server_config: ServerConfig, **kwargs: Any):
        super().__init__(**kwargs)
        self._server_config = server_config
        self._timers: dict[str, TimerHandle] = {}
        self._num_head_bytes = 0
        self._is_body = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        limit = self._server_config.max_connections
        if len(self.connections) > limit:
            reason = f"There are {limit} connections (--max_connections)"
            self._refuse(429, f"{reason}; try again later.")
        else:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in self._timers.values():
            timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._is_body = False
        super().data_received(data)
        # If no body came, these are bytes of headers, or of the trailers after
        # a body in chunks.
        self._num_head_bytes += len(data)
        if self._is_body:
            self._num_head_bytes = 0
        self._check_head(self._num_head_bytes)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_request()

    def on_headers_complete(self) -> None:
        self._is_body = True
        head = [self.url, *(x for header in self.headers for x in header)]
        if self._check_head(sum(map(len, head))):
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._is_body = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_body = True
        self._timers["reading"].cancel()
        super().on_message_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        seconds = self._server_config.client_seconds
        self._start("writing", seconds, self.transport.abort)

    def resume_writing(self) -> None:
        if "writing" in self._timers:
            self._timers["writing"].cancel()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, msg)

    def _expect_request(self) -> None:
        seconds = self._server_config.client_seconds + _LATER_SECONDS
        self._start("reading", seconds, self.transport.close)

    def _start(self, name: str, seconds: float, end: Callable) -> None:
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = self.loop.call_later(seconds, end)

    def _check_head(self, num_bytes: int) -> bool:
        if num_bytes > _MAX_HEAD_BYTES:
            self._refuse(
                431, f"The headers are larger than {_MAX_HEAD_BYTES} bytes."
            )
        return num_bytes <= _MAX_HEAD_BYTES

    def _refuse(self, status: int, sentence: str) -> None:
        if self.transport.is_closing():
            return
        body = json.dumps({"error": sentence})
        retry = "Retry-After: 1\r\n" if status == 429 else ""
        self.transport.write(
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            f"Content-Type: application/json\r\n{retry}Connection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        self.transport.close()

"""Refuses requests that are too large, too slow or too many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from starlette.requests import Request

from keras_bert.server.batching import Columns, num_rows
from keras_bert.server.config import ServerConfig
from keras_bert.server.refusal import Refusal, busy


class Limits:
    """Counts what is in the server.

    Attributes:
        waiting_texts: Texts that wait or are being answered.
        waiting_bytes: Bytes of all bodies that are in the server.
    """

    def __init__(self, config: ServerConfig):
        self._config = config
        self.waiting_texts = 0
        self.waiting_bytes = 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request):
        """Yields the body of a request."""
        length = request.headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._config.max_body_bytes:
            raise self._too_large()
        body = bytearray()
        try:
            await asyncio.wait_for(
                self._read(request, body), self._config.client_seconds
            )
            yield bytes(body)
        except TimeoutError:
            raise Refusal(
                408,
                "The request took longer than "
                f"{self._config.client_seconds:g} seconds to arrive; see the "
                "server's flag --client_seconds.",
                {"Connection": "close"},
            ) from None
        finally:
            self.waiting_bytes -= len(body)

    @contextlib.contextmanager
    def texts(self, columns: Columns) -> Iterator[int]:
        """Yields how many rows a request has, while they are answered."""
        config = self._config
        size = num_rows(columns)
        if size > config.max_texts:
            raise Refusal(
                413,
                f"The request has {size} texts, but the limit is "
                f"{config.max_texts}; send fewer at a time, or start the "
                "server with a larger --max_texts.",
            )
        self._check_lengths(columns, size)
        if self.waiting_texts + size > config.max_queue_texts:
            raise busy(
                f"{self.waiting_texts} texts are waiting already, and the "
                f"limit is {config.max_queue_texts} (--max_queue_texts); try "
                "again in a second."
            )
        self.waiting_texts += size
        try:
            yield size
        finally:
            self.waiting_texts -= size

    async def _read(self, request, body):
        async for chunk in request.stream():
            if len(body) + len(chunk) > self._config.max_body_bytes:
                raise self._too_large()
            if self.waiting_bytes + len(chunk) > self._config.max_queue_bytes:
                raise busy(
                    "The requests in the server have "
                    f"{self.waiting_bytes} bytes, and the limit is "
                    f"{self._config.max_queue_bytes} (--max_queue_bytes); "
                    "try again in a second."
                )
            self.waiting_bytes += len(chunk)
            body += chunk

    def _too_large(self):
        return Refusal(
            413,
            f"The body is larger than {self._config.max_body_bytes} bytes; "
            "send fewer texts at a time, or start the server with a larger "
            "--max_body_bytes.",
        )

    def _check_lengths(self, columns, size):
        limit = self._config.max_text_chars
        rows: list[list[bytes]] = [[] for _ in range(size)]
        for column in columns.values():
            if column.dtype == object:
                length = len(column) if column.ndim else 1
                width = column.size // max(1, length)
                for row, strings in zip(
                    rows, column.reshape(length, width).tolist(), strict=False
                ):
                    row += strings
        for number, row in enumerate(rows, 1):
            num_chars = sum(map(len, row))  # bytes, at least as many
            if num_chars > limit:
                num_chars = sum(len(x.decode("utf-8", "ignore")) for x in row)
            if num_chars > limit:
                raise Refusal(
                    413,
                    f"Text {number} has {num_chars} characters, but the limit "
                    f"is {limit}; split it, or start the server with a larger "
                    "--max_text_chars.",
                )

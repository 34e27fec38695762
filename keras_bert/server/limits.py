"""Refuses requests that are too large, too slow or too many."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import numpy as np
from starlette.requests import Request

from keras_bert.server.batching import Columns, num_rows, row_bytes
from keras_bert.server.config import ServerConfig
from keras_bert.server.refusal import Refusal


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
        seconds = self._config.client_seconds
        encoding = request.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise Refusal(
                f"The body has the Content-Encoding {encoding[:100]}, which "
                "this server does not read; send it without one.",
                415,
            )
        body = bytearray()
        try:
            self._check_size(int(request.headers.get("content-length", 0)))
            try:
                async with asyncio.timeout(seconds):
                    async for chunk in request.stream():
                        self._check_size(len(body) + len(chunk))
                        self._take(len(chunk))
                        body += chunk
            except TimeoutError:
                raise Refusal(
                    f"The request took longer than {seconds:g} seconds to "
                    "arrive; see the server's flag --client_seconds.",
                    408,
                    {"Connection": "close"},
                ) from None
            yield bytes(body)
        finally:
            self.waiting_bytes -= len(body)

    @contextlib.contextmanager
    def texts(self, columns: Columns) -> Iterator[int]:
        """Yields how many rows a request has, while they are answered."""
        config = self._config
        size = num_rows(columns)
        if size > config.max_texts:
            raise Refusal(
                f"The request has {size} texts, but the limit is "
                f"{config.max_texts}; send fewer at a time, or start the "
                "server with a larger --max_texts.",
                413,
            )
        self._check_lengths(columns, size)
        if self.waiting_texts + size > config.max_queue_texts:
            raise Refusal(
                f"{self.waiting_texts} texts are waiting already, and the "
                f"limit is {config.max_queue_texts} (--max_queue_texts); try "
                "again in a second.",
                429,
            )
        self.waiting_texts += size
        try:
            yield size
        finally:
            self.waiting_texts -= size

    def _check_size(self, size):
        if size > self._config.max_body_bytes:
            raise Refusal(
                f"The body is larger than {self._config.max_body_bytes} bytes; "
                "send fewer texts at a time, or start the server with a larger "
                "--max_body_bytes.",
                413,
            )

    def _take(self, size):
        if self.waiting_bytes + size > self._config.max_queue_bytes:
            raise Refusal(
                f"The requests in the server have {self.waiting_bytes} bytes, "
                f"and the limit is {self._config.max_queue_bytes} "
                "(--max_queue_bytes); try again in a second.",
                429,
            )
        self.waiting_bytes += size

    def _check_lengths(self, columns, size):
        limit = self._config.max_text_chars
        strings = [
            np.atleast_1d(x) for x in columns.values() if x.dtype == object
        ]
        num_bytes = np.zeros(size, int)
        for column in strings:
            num_bytes[: len(column)] += row_bytes(column)
        for row in np.flatnonzero(num_bytes > limit):  # at least as many
            num_chars = sum(
                len(text.decode("utf-8", "ignore"))
                for column in strings
                for text in column[row : row + 1].ravel()
            )
            if num_chars > limit:
                raise Refusal(
                    f"Text {row + 1} has {num_chars} characters, but the limit "
                    f"is {limit}; split it, or start the server with a larger "
                    "--max_text_chars.",
                    413,
                )

"""Refuses requests that are too large, too slow or too many."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import numpy as np
from starlette.requests import Request

from keras_bert.predict.function import Columns
from keras_bert.server.config import ServerConfig
from keras_bert.server.refusal import Refusal
from keras_bert.server.rows import num_rows, read_sizes, reads_per_row


class Limits:
    """Counts the texts and the bytes of the requests in the server.

    Attributes:
        waiting_texts: The number of texts that wait or are being answered.
        waiting_bytes: The number of bytes of all bodies in the server.
    """

    def __init__(self, config: ServerConfig):
        self._config = config
        self.waiting_texts = 0
        self.waiting_bytes = 0

    @contextlib.asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Yields a request's body, whose bytes count until the block ends."""
        seconds = self._config.client_seconds
        encoding = request.headers.get("content-encoding", "identity")
        if encoding.lower() != "identity":
            raise Refusal(
                f"The body has the Content-Encoding {encoding[:100]}, which "
                "this server cannot read; send the body without an encoding.",
                415,
            )
        body = bytearray()
        try:
            self._take(0, int(request.headers.get("content-length", 0)))
            try:
                async with asyncio.timeout(seconds):
                    async for chunk in request.stream():
                        self._take(len(chunk), len(body) + len(chunk))
                        body += chunk
            except TimeoutError:
                raise Refusal(
                    f"The request took longer than {seconds:g} seconds to "
                    "arrive (--client_seconds).",
                    408,
                    {"Connection": "close"},
                ) from None
            yield bytes(body)
        finally:
            self.waiting_bytes -= len(body)

    @contextlib.contextmanager
    def texts(self, columns: Columns) -> Iterator[int]:
        """Yields the number of texts, which is counted until the block ends."""
        config = self._config
        size = num_rows(columns) * reads_per_row(columns)
        if size > config.max_texts:
            raise Refusal(
                f"The request has {size} texts, but the limit is "
                f"{config.max_texts} (--max_texts); send fewer at a time.",
                413,
            )
        self._check_lengths(columns)
        if not _has_room(self.waiting_texts, size, config.max_queue_texts):
            raise Refusal(
                f"{self.waiting_texts} texts are waiting, and the limit is "
                f"{config.max_queue_texts} (--max_queue_texts); try again "
                "later.",
                429,
            )
        self.waiting_texts += size
        try:
            yield size
        finally:
            self.waiting_texts -= size

    def _take(self, num_bytes: int, size: int) -> None:
        """Counts `num_bytes` new bytes of a body that now has `size` bytes.

        Raises Refusal if the body, or all bodies together, are too large.
        """
        if size > self._config.max_body_bytes:
            raise Refusal(
                f"The body is larger than {self._config.max_body_bytes} bytes "
                "(--max_body_bytes); send fewer texts at a time.",
                413,
            )
        limit = self._config.max_queue_bytes
        others = self.waiting_bytes - (size - num_bytes)
        if not _has_room(others, size, limit):
            raise Refusal(
                f"The requests in the server have more than {limit} bytes "
                "(--max_queue_bytes); try again later.",
                429,
            )
        self.waiting_bytes += num_bytes

    def _check_lengths(self, columns: Columns) -> None:
        limit = self._config.max_text_chars
        sizes = read_sizes(columns, lambda x: len(x.decode(errors="ignore")))
        for row in np.flatnonzero(sizes > limit):
            raise Refusal(
                f"Text {row + 1} has {sizes[row]} characters, but the limit "
                f"is {limit} (--max_text_chars); split the text. A text "
                "counts once for each of its endings.",
                413,
            )


def _has_room(waiting: int, size: int, limit: int) -> bool:
    """Returns whether there is room for a request of this size.

    If other requests wait, the request may take at most half of the room that
    is left, so that large requests leave room for small requests.
    """
    return size <= (limit - waiting) // (2 if waiting else 1)

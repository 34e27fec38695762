"""The settings of the server."""

import dataclasses

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting


@dataclasses.dataclass(frozen=True)
class ServerConfig(CheckedSettings):
    """The settings of `serve`. The defaults suit a few CPU cores.

    Attributes:
        host: The address to listen on.
        port: The port to listen on. With 0, the server chooses a free port, and
            the log names the port.
        max_batch_size: The largest number of rows in a batch.
        batch_timeout_ms: The number of milliseconds that the first row of a
            batch waits for other rows.
        num_batch_threads: The number of batches that are computed at the same
            time.
        max_body_bytes: The largest number of bytes in the body of a request.
        max_texts: The largest number of texts (rows) in a request. If a row has
            a text and several endings, each ending counts as a text.
        max_text_chars: The largest number of characters in a row, over all its
            strings. If a row has a text and several endings, the text counts
            once for each ending.
        max_queue_texts: The largest number of texts that wait or are being
            answered. A request may take at most half of the room that other
            requests leave.
        max_queue_bytes: The largest number of bytes in the bodies of all
            requests in the server. A request may take at most half of the room
            that other requests leave.
        max_connections: The largest number of open connections.
        client_seconds: The number of seconds in which a client must send a
            request, and the longest pause while a client reads an answer.
        poll_seconds: The number of seconds between two checks of the folders
            for new versions; on a store, a check sends one request per model. A
            version is loaded when it has not changed between two checks.
        drain_seconds: The number of seconds after SIGTERM in which the server
            still accepts requests, while /readyz says that the server is not
            ready. In this time, each answer closes its connection.
        shutdown_seconds: The number of seconds in which the server answers the
            accepted requests, once the drain_seconds are over.

    Example:
        >>> keras_bert.server.ServerConfig(port=8080).max_batch_size
        32
    """

    host: str = "0.0.0.0"
    port: int = setting(8501, minimum=0, maximum=65535)
    max_batch_size: int = 32
    batch_timeout_ms: float = setting(1.0, minimum=0)
    num_batch_threads: int = 2
    max_body_bytes: int = 4_000_000
    max_texts: int = 1_000
    max_text_chars: int = 100_000
    max_queue_texts: int = 8_000
    max_queue_bytes: int = 64_000_000
    max_connections: int = 2_000
    client_seconds: float = 30.0
    poll_seconds: float = 1.0
    drain_seconds: float = setting(1.0, minimum=0)
    shutdown_seconds: float = 30.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for most, least in (
            ("max_queue_texts", "max_texts"),
            ("max_queue_bytes", "max_body_bytes"),
        ):
            if getattr(self, most) < getattr(self, least):
                raise InputError(
                    f"{most} is {getattr(self, most)}, but must be at least "
                    f"{least}, which is {getattr(self, least)}."
                )

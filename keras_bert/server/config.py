"""The settings of the server."""

import dataclasses

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting


@dataclasses.dataclass(frozen=True)
class ServerConfig(CheckedSettings):
    """The settings of `serve`. The defaults suit a few CPU cores.

    Attributes:
        host: The address to listen on.
        port: The port to listen on; 0 takes a free port, which the log names.
        max_batch_size: The largest number of rows that the model answers at
            once.
        batch_timeout_ms: The milliseconds that the first row of a batch waits
            for other rows.
        num_batch_threads: The number of batches that the model answers at a
            time.
        max_body_bytes: The largest body of a request.
        max_texts: The most texts (rows) in a request. A row with several
            endings of a text counts as that many texts.
        max_text_chars: The most characters in a text; all strings of a row
            count together, and a text counts once for each of its endings.
        max_queue_texts: The most texts that wait or are being answered. A
            request may take half of the room that the others leave.
        max_queue_bytes: The most bytes of all bodies in the server. A
            request may take half of the room that the others leave.
        max_connections: The most connections.
        client_seconds: The longest time that a client may take to send a
            request, or to go on reading an answer.
        poll_seconds: The time between two searches of the folders for new
            versions; each search sends one request per model to a store. A
            version is loaded when it has not changed between two searches.
        drain_seconds: The time after SIGTERM in which the server still accepts
            requests, while /readyz says that it is not ready. Each answer then
            closes its connection.
        shutdown_seconds: The longest time that requests may take to end after
            that.

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

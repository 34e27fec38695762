"""uvicorn's HTTP protocol, with limits for slow and for greedy clients."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from keras_bert.server.config import ServerConfig

_MAX_HEAD_BYTES = 65_536
# The application gives up on a body first, and answers with a sentence.
_LATER_SECONDS = 5


class LimitedProtocol(HttpToolsProtocol):
    """Closes a connection whose client is too slow or sends endless headers.

    uvicorn itself has no limit for the rest of a request, nor for a client that
    does not read its answer.
    """

    def __init__(self, server_config: ServerConfig, **kwargs):
        super().__init__(**kwargs)
        self._server_config = server_config
        self._reading = None
        self._writing = None
        self._num_head_bytes = 0
        self._is_body = False

    def connection_made(self, transport):
        super().connection_made(transport)
        limit = self._server_config.max_connections
        if len(self.connections) > limit:
            self._refuse(
                b"429 Too Many Requests",
                f"The server has {limit} connections already, which is the "
                "limit (--max_connections); try again in a second.",
            )
        else:
            self._expect_request()

    def connection_lost(self, exc):
        self._cancel(self._reading)
        self._cancel(self._writing)
        super().connection_lost(exc)

    def data_received(self, data):
        self._is_body = False
        super().data_received(data)
        if self._is_body:
            self._num_head_bytes = 0
            return
        # Of headers, or of the trailers of a body in chunks.
        self._num_head_bytes += len(data)
        if self._num_head_bytes > _MAX_HEAD_BYTES:
            self._refuse(
                b"431 Request Header Fields Too Large",
                f"The headers are larger than {_MAX_HEAD_BYTES} bytes.",
            )

    def on_message_begin(self):
        super().on_message_begin()
        self._expect_request()

    def on_headers_complete(self):
        self._is_body = True
        super().on_headers_complete()

    def on_body(self, body):
        self._is_body = True
        super().on_body(body)

    def on_message_complete(self):
        self._is_body = True
        self._cancel(self._reading)
        super().on_message_complete()

    def pause_writing(self):
        super().pause_writing()
        self._cancel(self._writing)
        self._writing = self.loop.call_later(
            self._server_config.client_seconds, self.transport.abort
        )

    def resume_writing(self):
        self._cancel(self._writing)
        super().resume_writing()

    def _expect_request(self):
        self._cancel(self._reading)
        self._reading = self.loop.call_later(
            self._server_config.client_seconds + _LATER_SECONDS,
            self.transport.close,
        )

    def _refuse(self, status, sentence):
        if self.transport.is_closing():
            return
        body = b'{"error": "%s"}' % sentence.encode()
        self.transport.write(
            b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
            b"Retry-After: 1\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (status, len(body), body)
        )
        self.transport.close()

    @staticmethod
    def _cancel(timer):
        if timer is not None:
            timer.cancel()

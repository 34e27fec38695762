"""What a client sees on its connection to uvicorn."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from small_server import client_of, holding, listening, wait_until

from keras_bert.server.config import ServerConfig
from keras_bert.server.run import listen

HEAD = b"POST /v1/models/small:predict HTTP/1.1\r\nHost: a\r\n"


@pytest.fixture(scope="module")
def app(upper_model):
    with client_of(upper_model) as client:
        yield client.server


def _ask(address, data):
    """Returns the status and the body of the only answer."""
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(data)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_an_answer_is_not_held_back():
    """Without the option, each answer on a connection takes 40 ms."""
    with listen(ServerConfig(host="127.0.0.1", port=0)) as listener:
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            with accepted:
                option = socket.IPPROTO_TCP, socket.TCP_NODELAY
                assert accepted.getsockopt(*option)


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"\x16\x03\x01\x00\xff\r\n\r\n", 400, "Invalid HTTP request"),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400, "Invalid HTTP request"),
        # The whole head arrives at once.
        (HEAD + b"A: " + b"a" * 66_000 + b"\r\n\r\n", 431, "65536 bytes"),
        (b"GET /" + b"a" * 66_000 + b" HTTP/1.1\r\n\r\n", 431, "65536"),
    ],
)
def test_what_is_not_a_request(app, data, status, reason):
    with listening(app) as (address, _):
        found, body = _ask(address, data)
    assert found == status
    assert list(body) == ["error"] and reason in body["error"]


def _request(*texts):
    """Returns the bytes of a request, after which the connection ends."""
    body = json.dumps({"instances": texts, "signature_name": "upper"}).encode()
    lines = b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    return HEAD + lines + body


def test_a_request_whose_client_left_is_not_computed(app):
    limits, num_threads = app.state.limits, ServerConfig().num_batch_threads
    with listening(app) as (address, _), holding(app) as (calls, go_on):
        with socket.create_connection(address, timeout=60) as client:
            client.sendall(_request(*["long " * 400] * 20))
            wait_until(lambda: len(calls) == num_threads)
            assert limits.waiting_texts == 20
        wait_until(lambda: limits.waiting_texts == 0)
        go_on.set()
        assert _ask(address, _request("a")) == (200, {"predictions": ["A"]})
    assert len(calls) == num_threads + 1


def test_a_request_that_is_cut_off_gets_json(app):
    with (
        listening(app, shutdown_seconds=1) as (address, server),
        holding(app) as (calls, _),
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(_ask, address, _request("a"))
        wait_until(lambda: calls)
        server.should_exit = True
        sentence = "The server shut down before it answered; try again."
        assert answer.result() == (503, {"error": sentence})
    assert app.num_cut_off == 1
    assert app.state.limits.waiting_texts == app.state.limits.waiting_bytes == 0

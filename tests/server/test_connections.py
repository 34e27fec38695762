"""What a client sees on its connection to uvicorn."""

import dataclasses
import json
import socket
import threading

import pytest
from small_server import client_of, listening, wait_until

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
                assert accepted.getsockopt(
                    socket.IPPROTO_TCP, socket.TCP_NODELAY
                )


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


def test_a_request_whose_client_left_is_not_computed(app, monkeypatch):
    signatures = app.state.models["small"].versions()[0].servable.signatures
    function, go_on, calls = signatures["upper"], threading.Event(), []

    def wait(columns):
        calls.append(columns)
        go_on.wait(60)
        return function.call(columns)

    changed = dataclasses.replace(signatures["upper"], call=wait)
    monkeypatch.setitem(signatures, "upper", changed)

    def request(texts):
        body = {"instances": texts, "signature_name": "upper"}
        body = json.dumps(body).encode()
        return HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    with listening(app) as (address, _):
        with socket.create_connection(address, timeout=60) as client:
            client.sendall(request(["long " * 400] * 20))
            wait_until(lambda: len(calls) == ServerConfig().num_batch_threads)
            assert app.state.limits.waiting_texts == 20
        wait_until(lambda: app.state.limits.waiting_texts == 0)
        go_on.set()
        more = b"Connection: close\r\n"
        data = request(["a"]).replace(b"Host: a\r\n", b"Host: a\r\n" + more)
        assert _ask(address, data) == (200, {"predictions": ["A"]})
    assert len(calls) == ServerConfig().num_batch_threads + 1


def test_a_request_that_is_cut_off_gets_json(app, monkeypatch):
    signatures = app.state.models["small"].versions()[0].servable.signatures
    is_waiting, go_on = threading.Event(), threading.Event()

    def wait(tensors):
        is_waiting.set()
        go_on.wait(60)

    changed = dataclasses.replace(signatures["upper"], call=wait)
    monkeypatch.setitem(signatures, "upper", changed)
    body = b'{"instances": ["a"], "signature_name": "upper"}'
    answers = []
    with listening(app, shutdown_seconds=1) as (address, server):
        data = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        thread = threading.Thread(
            target=lambda: answers.append(_ask(address, data))
        )
        thread.start()
        assert is_waiting.wait(60)
        server.should_exit = True
        thread.join()
        go_on.set()
    assert answers == [
        (503, {"error": "The server shut down before it answered; try again."})
    ]
    assert app.num_cut_off == 1
    assert app.state.limits.waiting_texts == app.state.limits.waiting_bytes == 0

"""serve.py as a process: signals, slow clients, wrong flags."""

import json
import shutil
import signal
import socket
import threading

import pytest
from script_runs import error_of
from small_saved_model import save_small_model
from small_server import running_server, wait_until

SLOW = {"instances": ["a"], "signature_name": "slow"}


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "small"
    save_small_model(folder / "1", signatures=["slow"])
    return folder


def test_requests_in_flight_are_answered_after_sigterm(slow_model, tmp_path):
    folder = tmp_path / "small"
    shutil.copytree(slow_model, folder)
    with running_server(folder, drain_seconds=1) as client:
        answers = []

        def ask():
            answers.append(client.post("/v1/models/small:predict", json=SLOW))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        gauge = "keras_bert_waiting_texts 0.0"
        path = "/monitoring/prometheus/metrics"
        wait_until(lambda: gauge not in client.get(path).text)
        client.process.send_signal(signal.SIGTERM)
        wait_until(lambda: client.get("/readyz").status_code == 503)
        assert client.get("/healthz").status_code == 200
        for thread in threads:
            thread.join()
        assert [x.json() for x in answers] == [{"predictions": [1]}] * 4
        out, _ = client.process.communicate(timeout=60)
        assert client.process.returncode == 0
        events = [json.loads(line) for line in out.splitlines()]
        assert events[-1]["event"] == "ended"
        assert [x for x in events if x.get("signal") == "SIGTERM"]


def _connect(client):
    return socket.create_connection(
        ("127.0.0.1", client.base_url.port), timeout=60
    )


def _is_closed_after(connection, data):
    """Returns whether the other side is gone."""
    try:
        connection.sendall(data)
    except OSError:
        return True
    return False


def _read_all(connection):
    received = b""
    while part := connection.recv(65536):
        received += part
    return received


def test_slow_and_greedy_clients(slow_model):
    with running_server(
        slow_model, client_seconds=1, max_connections=30
    ) as client:
        head = b"POST /v1/models/small:predict HTTP/1.1\r\nHost: a\r\n"
        with _connect(client) as connection:
            connection.sendall(head + b"Content-Length: 100\r\n\r\n{")
            answer = _read_all(connection)  # until the server closes it
        assert b"408" in answer.splitlines()[0]
        assert b"--client_seconds" in answer
        with _connect(client) as connection:  # no head at all
            assert _read_all(connection) == b""
        with _connect(client) as connection:  # a head without an end
            connection.sendall(head + b"A: " + b"a" * 70_000)
            assert b"431" in _read_all(connection).splitlines()[0]
        with _connect(client) as connection:  # so are trailers
            chunks = b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
            connection.sendall(head + chunks)
            wait_until(
                lambda: _is_closed_after(connection, b"A: " + b"a" * 70_000)
            )
        with _connect(client) as connection:
            connection.sendall(b"\x16\x03\x01\x00\xff" * 20)
            assert b"400" in _read_all(connection).splitlines()[0]
        # A body whose length is announced is refused before it is sent.
        with _connect(client) as connection:
            connection.sendall(head + b"Content-Length: 100000000\r\n\r\n")
            assert b"413" in connection.recv(65536).splitlines()[0]
        connections = [_connect(client) for _ in range(40)]
        refused = connections[-1].recv(65536)
        assert b"429" in refused.splitlines()[0]
        assert b"--max_connections" in refused
        for connection in connections:
            connection.close()
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/v1/models/small:predict", json=SLOW).json() == {
            "predictions": [1]
        }


@pytest.mark.slow
def test_wrong_flags(small_model, tmp_path):
    def error(**flags):
        return error_of("serve", **{"model_dir": small_model, **flags})

    assert "not a folder" in error(model_dir=tmp_path / "no")
    assert "has no version" in error(model_dir=tmp_path)
    assert "has no version" in error(model_dir=small_model / "1")
    assert "need a name each" in error(model_name="a,b")
    assert "cannot name a model" in error(model_name="a:b")
    assert "not a label" in error(version_labels="stable")
    assert "has only 1" in error(version_labels="stable=2")
    assert "belongs to no model" in error(version_labels="no/stable=1")
    assert "must be above 0" in error(max_texts=0)
    assert "must be at least max_texts" in error(max_queue_texts=3)
    assert "below 65536" in error(port=70000)
    assert "No such file" in error(api_key_file=tmp_path / "no")
    (tmp_path / "key").write_text("\n")
    assert "key is empty" in error(api_key_file=tmp_path / "key")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "in use" in error(host="127.0.0.1", port=port)

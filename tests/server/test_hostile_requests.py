"""Hostile requests to a running server: no crash, no traceback, no 5xx."""

import json
import random
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_server import running_server

NUM_REQUESTS = 1000
PREDICT = "/v1/models/small:predict"


def _values(generator):
    """Returns something that JSON can hold, or nearly."""
    return generator.choice(
        [
            *(None, True, -1, 1.5, float("nan"), 10**30, "", "\0", "text"),
            *("🎉" * 50, "\ud800", {"b64": "w6Q="}, {"b64": 1}, {"b64": "!"}),
            *([], [[]], {}, ["text", 1], [["text"]], {"text": "text"}),
            *({"text": ["text"]}, ["text"] * generator.choice([1, 2, 2000])),
        ]
    )


def _bodies(generator):
    keys = ["instances", "inputs", "examples", "context", "signature_name"]
    names = ["upper", "pair", "split", "tag", "parse", "numbers", "mean"]
    body = {
        key: _values(generator)
        for key in generator.sample(keys, generator.randint(1, 3))
    }
    if generator.random() < 0.7:
        body["signature_name"] = generator.choice([*names, "classify", ""])
    if generator.random() < 0.5:
        body["instances"] = [_values(generator) for _ in range(3)]
    text = json.dumps(body).encode()
    return generator.choice(
        [
            text,
            text,
            text,
            text[: generator.randrange(len(text))],
            generator.randbytes(generator.choice([0, 1, 100, 10_000])),
            b'{"instances": ["\xff\xfe' + generator.randbytes(9) + b'"]}',
            b'{"instances": ' + generator.choice([b"[", b'{"a":']) * 5000,
            b'{"instances": [' + b"1" * 6000 + b"]}",
            b'{"instances": [' + b"[]," * 5000 + b"[]]}",
            b'{"instances": ["' + b"a" * 1_000_000 + b'"]}',
        ]
    )


def _paths(generator):
    return generator.choice(
        [
            *(PREDICT, PREDICT, PREDICT, "/v1/embeddings"),
            *("/v1/models/small:classify", "/v1/models/small:regress"),
            *("/v1/models/small/versions/9:predict", "/v1/models/no:predict"),
            *("/v1/models/small/metadata", "/", "/page/%2e%2e%2fapp.py"),
            *("/page/..%00", "/../../etc/passwd", "//", "/%ff%fe", "/v1/%00"),
            "/v1/models/" + "a" * generator.choice([10, 5000]),
        ]
    )


@pytest.mark.slow
def test_hostile_requests(small_model):
    with running_server(small_model) as client:
        port = client.base_url.port
        memory = _memory(client.process.pid)

        def attack(seed):
            generator = random.Random(seed)
            path, body = _paths(generator), _bodies(generator)
            kind = generator.random()
            if kind < 0.1:  # not HTTP
                with socket.create_connection(("127.0.0.1", port)) as raw:
                    raw.sendall(generator.randbytes(200) + b"\r\n\r\n")
                return None
            if kind < 0.2:  # the client leaves before the end
                with socket.create_connection(("127.0.0.1", port)) as raw:
                    raw.sendall(
                        b"POST %s HTTP/1.1\r\nContent-Length: 9999\r\n\r\n{"
                        % PREDICT.encode()
                    )
                return None
            if kind < 0.22:  # 100 MB, in chunks
                body = (b" " * 1_000_000 for _ in range(100))
            method = generator.choice(["POST", "POST", "GET", "PUT", "HEAD"])
            response = client.request(method, path, content=body)
            assert "Traceback" not in response.text
            return response.status_code

        with ThreadPoolExecutor(8) as pool:
            statuses = set(pool.map(attack, range(NUM_REQUESTS)))
        assert statuses >= {200, 400, 404, 413}
        assert max(statuses - {None}) < 500, statuses
        body = {"instances": ["a"], "signature_name": "upper"}
        answer = client.post(PREDICT, json=body)
        assert answer.json() == {"predictions": ["A"]}
        assert _memory(client.process.pid) < memory + 500e6


def _memory(pid):
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * 4096

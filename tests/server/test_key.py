"""Without the key no request is answered, whatever its target and its head."""

import itertools
import socket

import pytest
from small_server import client_of, listening

KEY = "secret ä"
PREDICT = "/v1/models/small:predict"
BODY = b'{"instances": ["a"], "signature_name": "upper"}'
CLOSED = [
    ("POST", PREDICT),
    ("POST", "/v1/models/small/versions/1:predict"),
    ("POST", "/v1/models/small:classify"),
    ("POST", "/v1/models/small:regress"),
    ("POST", "/v1/embeddings"),
    ("POST", "/embed"),
    ("POST", "/v1/rerank"),
    ("GET", "/info"),
    ("GET", "/v1/models/small"),
    ("GET", "/v1/models/small/metadata"),
    ("GET", "/page/models"),
    ("GET", "/monitoring/prometheus/metrics"),
]
OPEN = ["/", "/docs", "/openapi.json", "/healthz", "/readyz", "/page/page.js"]


@pytest.fixture(scope="module")
def locked(upper_model):
    with client_of(upper_model, api_key=KEY) as client:
        yield client


@pytest.fixture(scope="module")
def ask(locked):
    """A function from a head and a body to the answer of uvicorn."""
    with listening(locked.server) as (address, _):

        def ask(method, target, host="a", key=None, body=BODY):
            with socket.create_connection(address) as client:
                head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n"
                if key is not None:
                    head += f"Authorization: Bearer {key}\r\n"
                head += f"Content-Length: {len(body)}\r\n"
                head = f"{head}Connection: close\r\n\r\n".encode()
                client.sendall(head + body)
                parts = iter(lambda: client.recv(65536), b"")
                try:
                    return b"".join(parts).decode()
                except ConnectionResetError:  # it did not read the body
                    return "HTTP/1.1 400"

        yield ask


def _status(answer):
    return int(answer.split()[1])


def _targets(path):
    """Yields other ways to write a path, and ways to hide it."""
    return [
        path,
        path.upper(),
        path.replace("/", "//"),
        path.replace("/", "/./"),
        path.replace("/", "%2f"),
        "/" + path[1:].replace("/", "%2F"),
        path.replace("m", "%6d").replace("p", "%70"),
        path.replace("/", "\\"),
        *(path + end for end in ("/", "%0a", "%00", "%20", "%09", "?a", "#a")),
        *(path + mark + open_ for mark in "?#;@:" for open_ in OPEN),
        *(open_ + mark + path for mark in "?#;@:/" for open_ in OPEN),
        *(open_ + dots + path for dots in DOTS for open_ in OPEN),
        *(f"http://{host}{path}" for host in HOSTS),
        *(f"http://a{open_}?{path}" for open_ in OPEN),
        "/page/models/",
        "/page/Models",
        "/page//models",
        "/page/%6dodels",
        "/page/x/../models",
    ]


def _is_open(target):
    """Returns whether a target is an open path, whatever comes after it."""
    path = target.removeprefix("http://a").partition("?")[0].partition("#")[0]
    return path in OPEN


DOTS = ["/..", "/../..", "/%2e%2e", "/.%2e", "/..%2f"]
HOSTS = [
    "a",
    "",
    "a@b",
    "[::1",
    "a/page/page.js?",
    "a/healthz#",
    *(f"a{path}{end}" for _, path in CLOSED for end in "?#"),
]
METHODS = "GET POST HEAD PUT PATCH DELETE OPTIONS TRACE CONNECT get".split()


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_nothing_is_answered_without_the_key(ask, method, path):
    targets = [(method, x) for x in _targets(path) if not _is_open(x)]
    assert len(targets) > 70
    hosts = [("POST", path, host) for host in HOSTS]
    methods = [(method, path) for method in METHODS]
    for request in targets + hosts + methods:
        assert _status(ask(*request)) in (400, 401), request


def test_an_open_path_is_not_taken_for_another(ask):
    """Whatever the head says, the answer is that of the path."""
    for host in HOSTS:
        for path in ("/page/x", "/page/x/y", "/page/models/x"):
            assert _status(ask("POST", path, host)) in (400, 401), (host, path)
        for path, method in itertools.product(OPEN, METHODS):
            answer = ask(method, path, host)
            assert '{"predictions' not in answer
            assert "AVAILABLE" not in answer


def test_the_key(ask):
    for key in ("", "secret", "secret ä2", "secret Ä", KEY[:-1], KEY * 2):
        answer = ask("POST", PREDICT, key=key)
        assert _status(answer) == 401 and "Bearer KEY" in answer
        assert "www-authenticate: Bearer" in answer
    assert '{"predictions": ["A"]}' in ask("POST", PREDICT, key=KEY)
    for path in OPEN:
        assert _status(ask("GET", path)) == 200


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/small%0a",
        "/v1/models/small%09",
        "/v1/models/small%0d/metadata",
        "/v1/models/sm%0aall",
        "/v1/models%0a/small",
        "/v1/model%C5%BF/small",  # lower-case, it is an s
    ],
)
def test_a_path_is_not_mended(ask, path):
    assert _status(ask("GET", path, key=KEY)) in (400, 404)
    path = path.replace("/metadata", "") + ":predict"
    assert _status(ask("POST", path, key=KEY)) in (400, 404)


def test_a_verb_has_latin_letters(ask):
    path = "/v1/models/small:cla%C5%BF%C5%BFify"
    assert _status(ask("POST", path, key=KEY)) == 400

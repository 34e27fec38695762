"""serve.py as a process: slow clients, wrong flags."""

import socket

import pytest
from script_runs import error_of, run
from small_saved_model import save_small_model
from small_server import running_server, wait_until

import keras_bert
from keras_bert.commands import serve as serve_command
from keras_bert.errors import InputError
from keras_bert.server import run as server_run
from keras_bert.server.config import ServerConfig
from keras_bert.server.run import load_models

SLOW = {"instances": ["a"], "signature_name": "slow"}


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "small"
    save_small_model(folder / "1", signatures=["slow"])
    return folder


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


@pytest.mark.slow
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
def test_wrong_flags(slow_model, tmp_path):
    def error(**flags):
        return error_of("serve", **{"model_dir": slow_model, **flags})

    assert "give each a different name" in error(model_name="a,b")
    (tmp_path / "key").write_text("\n")
    assert "has 0 lines, but must have exactly one" in error(
        api_key_file=tmp_path / "key"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "in use" in error(host="127.0.0.1", port=port)


@pytest.fixture
def served(monkeypatch):
    """What the command serves: the folders of the models, the config, a log."""
    served = {"log": []}

    def serve(models, config, *, api_key, **_):
        served.update(models=models, config=config, api_key=api_key)
        return 0

    def log(event, model, **_):
        served["log"].append((event, model))

    monkeypatch.setattr(keras_bert, "serve", serve)
    monkeypatch.setattr(serve_command, "log", log)
    monkeypatch.setattr(serve_command, "write_logs_as_json", lambda: None)
    monkeypatch.setattr(
        keras_bert.finetuning,
        "export_to_cache",
        lambda checkpoint, cache_dir: f"{cache_dir}/{checkpoint}",
    )
    return served


def test_models_are_named_after_their_checkpoints(served):
    config = ServerConfig()
    serve_command.run(
        config,
        model=["hf://owner/mini@v1", "runs/films"],
        model_dir=["served/a@b"],
        cache_dir="cache",
    )
    assert served["models"] == {
        "mini": "cache/hf://owner/mini@v1",
        "films": "cache/runs/films",
        "a@b": "served/a@b",
    }
    # Models that are exported first have a line in the log.
    exported = ["hf://owner/mini@v1", "runs/films"]
    assert served["log"] == [("preparing", name) for name in exported]
    with pytest.raises(InputError, match="give each a different name"):
        serve_command.run(config, model=["a/x"], model_dir=["b/x"])
    with pytest.raises(InputError, match="Give --model or --model_dir"):
        serve_command.run(config)


@pytest.mark.parametrize(
    ("models", "labels", "reason"),
    [
        ("a", "x=1 x=7", "x is given for the versions 1 and 7"),
        ("a b", "a/x=1 a/x=2", "x is given for the versions 1 and 2"),
        ("a", "stable", "'stable' is not a version label"),
        ("a", "a/=1", "'a/=1' is not a version label"),
        ("a", "stable=one", "'stable=one' is not a version label"),
        ("a b", "stable=1", "or a/stable=1 if there are several"),
    ],
)
def test_wrong_labels(served, models, labels, reason):
    config, models = ServerConfig(), models.split()
    with pytest.raises(InputError, match=reason):
        serve_command.run(
            config, model_dir=models, version_labels=labels.split()
        )


@pytest.mark.parametrize(
    ("name", "install"),
    [
        ("uvicorn", "pip install 'keras-bert-tf[serve]'."),
        ("keras", "pip install tensorflow."),
    ],
)
def test_a_package_that_is_missing(served, monkeypatch, name, install):
    def fail(*_):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(keras_bert.finetuning, "export_to_cache", fail)
    assert error_of("serve", model="runs/films") == (
        f"Error: This command needs the package {name}, which is not "
        f"installed; run {install}"
    )


def test_a_key_is_read_without_a_byte_order_mark_and_blanks(
    served, tmp_path, monkeypatch
):
    monkeypatch.setenv("KERAS_BERT_API_KEY", "a key ")
    serve_command.run(ServerConfig(), model=["a"])
    assert served["api_key"] == "a key"
    file = tmp_path / "key"
    file.write_text("clé\n", encoding="utf-8-sig")
    serve_command.run(ServerConfig(), model=["a"], api_key_file=str(file))
    assert served["api_key"] == "clé"
    file.write_text("clé\n", encoding="latin-1")
    with pytest.raises(keras_bert.InputError, match="key is not UTF-8"):
        serve_command.run(ServerConfig(), model=["a"], api_key_file=str(file))


def test_flags_come_from_the_environment(served, monkeypatch):
    monkeypatch.setenv("KERAS_BERT_MODEL_DIR", "served/a,served/b")
    monkeypatch.setenv("KERAS_BERT_PORT", "8502")
    monkeypatch.setenv("KERAS_BERT_MAX_TEXTS", "7")
    monkeypatch.setenv("KERAS_BERT_HOST", "")  # compose has no other way
    run("serve", port=8503)  # a flag wins
    assert served["models"] == {"a": "served/a", "b": "served/b"}
    assert served["config"] == ServerConfig(port=8503, max_texts=7)
    # Kubernetes makes such a variable for a service named keras-bert.
    monkeypatch.setenv("KERAS_BERT_PORT", "tcp://10.0.0.1:8501")
    assert error_of("serve") == (
        "Error: The environment variable KERAS_BERT_PORT is "
        "'tcp://10.0.0.1:8501', but must be an integer; change it, or give "
        "--port."
    )
    assert "(default: 8501) [KERAS_BERT_PORT]" in run("serve", "--help")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"max_texts": 0}, "must be above 0"),
        ({"max_queue_texts": 3}, "must be at least max_texts"),
        ({"max_queue_bytes": 3}, "must be at least max_body_bytes"),
        ({"port": 70000}, "at most 65535"),
        ({"port": -1}, "at least 0"),
    ],
)
def test_wrong_settings(changes, reason):
    with pytest.raises(InputError, match=reason):
        ServerConfig(**changes)


def test_requests_that_were_cut_off_are_an_error(slow_model, monkeypatch):
    def run_server(server, sockets):
        server._app.num_cut_off = 2
        sockets[0].close()

    for module in (server_run, serve_command):
        monkeypatch.setattr(module, "write_logs_as_json", lambda: None)
    monkeypatch.setattr(server_run._Server, "run", run_server)
    config = ServerConfig(host="127.0.0.1", port=0)
    with pytest.raises(SystemExit, match="2 requests were not answered"):
        serve_command.run(config, model_dir=[str(slow_model)])


def test_wrong_models(slow_model):
    def fail(reason, models, labels=None):
        with pytest.raises(InputError, match=reason):
            load_models(models, labels or {})

    fail("no model to serve", {})
    fail("has no version", {"a": slow_model / "1"})
    fail("cannot be used in a URL", {"a:b": slow_model})
    fail("has only 1", {"a": slow_model}, {"a": {"stable": 2}})
    fail(
        "'b' has a version label, but is not a model; the models are a",
        {"a": slow_model},
        {"b": {"stable": 1}},
    )

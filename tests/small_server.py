"""Servers of the small model: in this process, and in another."""

import contextlib
import dataclasses
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import httpx
from script_runs import command
from starlette.testclient import TestClient

from keras_bert.server import run
from keras_bert.server.app import App
from keras_bert.server.config import ServerConfig
from keras_bert.server.run import load_models


@contextlib.contextmanager
def client_of(folder, api_key=None, labels=None, **changes):
    """Yields a client of an App in this process, which has `app`, `model`."""
    models = load_models({"small": folder}, {"small": labels} if labels else {})
    for _ in range(2):  # the second time, nothing has changed in the folder
        models["small"].poll()
    with serving(models, api_key, **changes) as client:
        client.model = models["small"]
        yield client


@contextlib.contextmanager
def serving(models, api_key=None, **changes):
    """Yields a client of an App of these models, which has `server`."""
    app = App(models, ServerConfig(**changes), api_key)
    with TestClient(app) as client:
        client.server = app
        yield client
    app.close()


@contextlib.contextmanager
def holding(app):
    """Makes the signature `upper` wait until `go_on` is set; yields its calls.

    Yields a list, which gets the inputs of each call, and `go_on`.
    """
    signatures = app.state.models["small"].versions()[0].servable.signatures
    function, calls, go_on = signatures["upper"], [], threading.Event()

    def wait(columns):
        calls.append(columns)
        go_on.wait(60)
        return function.call(columns)

    signatures["upper"] = dataclasses.replace(function, call=wait)
    try:
        yield calls, go_on
    finally:
        go_on.set()
        signatures["upper"] = function


@contextlib.contextmanager
def listening(app, **changes):
    """Yields the address of an App in this process, and its uvicorn.Server."""
    config = ServerConfig(host="127.0.0.1", port=0, **changes)
    server = run._Server(app, config)
    with run.listen(config) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname(), server
        finally:
            server.should_exit = True
            thread.join()


@contextlib.contextmanager
def running_server(folder, environment=(), **flags):
    """Yields a client of a server in a process of its own."""
    address = {"host": "127.0.0.1", "port": 0}
    flags = {"model_dir": folder, "model_name": "small", **address, **flags}
    # A file: the log of many requests would fill a pipe.
    with (
        tempfile.NamedTemporaryFile("w") as log,
        tempfile.NamedTemporaryFile("w") as errors,
    ):
        process = subprocess.Popen(
            command("serve", **flags),
            stdout=log,
            stderr=errors,
            env={**os.environ, **dict(environment)},
        )
        try:
            wait_until(lambda: read_log(log.name))
            url = f"http://127.0.0.1:{read_log(log.name)[0]['port']}"
            with httpx.Client(base_url=url, timeout=60) as client:
                client.process = process
                client.log_file = log.name
                client.error_file = errors.name
                wait_until(lambda: client.get("/readyz").is_success, 300)
                yield client
        finally:
            process.kill()
            process.wait()


def read_log(file):
    """Returns the events in a log."""
    lines = Path(file).read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_until(is_true, seconds=60):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"not true after {seconds} seconds"
        time.sleep(0.05)

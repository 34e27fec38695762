"""Folders of models -> an HTTP server, until the process gets a signal."""

import functools
import signal
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

import uvicorn

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.server.app import App
from keras_bert.server.config import ServerConfig
from keras_bert.server.json_logs import log, write_logs_as_json
from keras_bert.server.protocol import LimitedProtocol
from keras_bert.server.servable import Servable
from keras_bert.server.versions import ModelVersions, polling

_IDLE_SECONDS = 60  # the time until an idle connection is closed


def serve(
    models: Mapping[str, str | Path],
    config: ServerConfig | None = None,
    *,
    version_labels: Mapping[str, Mapping[str, int]] | None = None,
    api_key: str | None = None,
) -> int:
    """Answers TensorFlow Serving's REST requests until SIGTERM or SIGINT.

    After the signal, /readyz says that the server is not ready, and the server
    answers the requests that have begun. Then the function returns. Logs are
    lines of JSON on standard output. The line `listening` names the port.

    Args:
        models: A mapping from each model's name to the folder with its
            versions. A new version is loaded when it appears, and replaces the
            previous version; no request is lost. For a checkpoint, give the
            folder that `keras_bert.finetuning.export_to_cache` returns.
        config: The port, the batches and the limits.
        version_labels: A mapping from a model's name to its labels, and from
            each label to the number of a version. Labeled versions stay loaded.
        api_key: The key that requests must send as their bearer token; None for
            no key. /healthz, /readyz and the page never need a key.

    Returns:
        The number of requests that were not answered before the server ended.

    Raises:
        InputError: If a folder has no version, or a name cannot be in a URL.
        OSError: If the port is taken.

    Example:
        >>> keras_bert.serve({"sst2": "no_such_folder"})
        Traceback (most recent call last):
        keras_bert.errors.InputError: no_such_folder has no version ...
    """
    config = ServerConfig.checked(config)
    loaded = load_models(models, version_labels or {})
    app = App(loaded, config, api_key)
    listener = listen(config)
    write_logs_as_json()
    host, port = listener.getsockname()[:2]
    log("listening", host=host, port=port, models=list(loaded))
    with polling(list(loaded.values()), config.poll_seconds):
        _Server(app, config).run(sockets=[listener])
    app.close()
    log("ended", cut_off=app.num_cut_off)
    return app.num_cut_off


def listen(config: ServerConfig) -> socket.socket:
    """Returns a socket that listens on the port of the config."""
    try:
        address = config.host, config.port
        listener = socket.create_server(address, backlog=2048)
    except OSError as error:
        raise OSError(
            f"The server cannot listen on {config.host}:{config.port} "
            f"({error.strerror}); give another --port or --host."
        ) from error
    # Otherwise the body of an answer waits for 40 ms, until the client has
    # confirmed the head of the answer.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def load_models(
    models: Mapping[str, str | Path],
    version_labels: Mapping[str, Mapping[str, int]],
) -> dict[str, ModelVersions]:
    """Returns the models, keyed by name; `poll` loads their versions later."""
    if not models:
        raise InputError("There is no model to serve; give a folder.")
    for name in version_labels:
        if name not in models:
            known = ", ".join(models)
            raise InputError(
                f"{name!r} has a version label, but is not a model; the "
                f"models are {known}."
            )
    loaded = {}
    for name, folder in models.items():
        if ":" in name or not all(name.split("/")):
            raise InputError(
                f"{name!r} cannot be used in a URL; give a --model_name "
                "without ':' and without an empty part before or after a '/'."
            )
        loaded[name] = ModelVersions(
            name, to_path(folder), Servable, version_labels.get(name, {})
        )
    return loaded


class _Server(uvicorn.Server):
    """A server that, after a signal, first says that it is not ready.

    After `drain_seconds`, the server accepts no new connections, and only
    finishes the requests that have begun.
    """

    def __init__(self, app: App, config: ServerConfig):
        super().__init__(
            uvicorn.Config(
                app,
                http=functools.partial(LimitedProtocol, config),  # type: ignore[arg-type]
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=_IDLE_SECONDS,
                timeout_graceful_shutdown=round(config.shutdown_seconds),
            )
        )
        self._app = app
        self._drain_seconds = config.drain_seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begins to end the server, without raising the signal again."""
        if self._app.state.is_stopping and sig == signal.SIGINT:
            self.force_exit = True  # the second Ctrl-C
        self._app.state.is_stopping = True
        log("ending", signal=signal.Signals(sig).name)
        end = functools.partial(setattr, self, "should_exit", True)
        timer = threading.Timer(self._drain_seconds, end)
        timer.daemon = True
        timer.start()

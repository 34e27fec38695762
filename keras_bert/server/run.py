"""Serves models until the process is told to end."""

from __future__ import annotations

import asyncio
import functools
import itertools
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import uvicorn

from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.server.app import App
from keras_bert.server.batching import Batcher
from keras_bert.server.config import ServerConfig
from keras_bert.server.json_logs import log, write_logs_as_json
from keras_bert.server.protocol import LimitedProtocol
from keras_bert.server.servable import Servable
from keras_bert.server.versions import ModelVersions, Poller

_NUM_LOADED = itertools.count()
_IDLE_SECONDS = 60  # after which a connection without a request is closed


def serve(
    models: Mapping[str, str | Path],
    config: ServerConfig | None = None,
    *,
    version_labels: Mapping[str, Mapping[str, int]] | None = None,
    api_key: str | None = None,
) -> None:
    """Answers TensorFlow Serving's REST requests until SIGTERM or SIGINT.

    Then /readyz says that the server is not ready, requests that have begun
    are answered, and the function returns. Logs are lines of JSON on standard
    output; the first says which port is open.

    Args:
        models: Maps a name to the folder with the versions of the model. A
            new version is loaded when it appears, and then replaces the one
            before without losing a request.
        config: Ports, batches and limits.
        version_labels: Maps a model's name to its labels, and these to
            versions. Such versions stay loaded.
        api_key: If given, requests must have it as their bearer token. Only
            /healthz, /readyz and the page need no key.

    Raises:
        InputError: If a folder has no version, or a name cannot be in a URL.
        OSError: If a folder is missing, or the port is taken.

    Example:
        >>> keras_bert.serve({"sst2": "no_such_folder"})
        Traceback (most recent call last):
        keras_bert.errors.InputError: no_such_folder is not a folder; ...
    """
    config = config or ServerConfig()
    loaded = load_models(models, config, version_labels or {})
    app = App(loaded, config, api_key)
    listener = socket.create_server((config.host, config.port), backlog=2048)
    write_logs_as_json()
    host, port = listener.getsockname()[:2]
    log("listening", host=host, port=port, models=list(loaded))
    poller = Poller(list(loaded.values()), config.poll_seconds)
    poller.start()
    _Server(app, config).run(sockets=[listener])
    poller.stop()
    app.close()
    log("ended")


def load_models(
    models: Mapping[str, str | Path],
    config: ServerConfig,
    version_labels: Mapping[str, Mapping[str, int]],
) -> dict[str, ModelVersions]:
    """Returns the models; their first `poll` loads them."""
    if not models:
        raise InputError("There is no model to serve; name a folder.")
    for name in version_labels:
        if name not in models:
            raise InputError(
                f"The label of {name!r} belongs to no model; these are "
                f"{', '.join(models)}."
            )
    batcher = Batcher(config)
    loaded = {}
    for name, folder in models.items():
        if not name or set(name) & set("/:"):
            raise InputError(
                f"{name!r} cannot name a model in a URL; give a name without "
                "/ and : with --model_name."
            )
        folder = to_path(folder)
        if not folder.is_dir():
            raise InputError(
                f"{folder} is not a folder; give the folder that "
                "keras-bert export wrote."
            )
        loaded[name] = ModelVersions(
            name,
            folder,
            functools.partial(_load, name, batcher),
            version_labels.get(name, {}),
        )
    return loaded


def _load(name, batcher, folder, number):
    # A process has one queue of a name, even if a version is loaded again.
    key = f"{next(_NUM_LOADED)}/{name}/{number}"
    return Servable(folder, key, batcher)


class _Server(uvicorn.Server):
    """Ends in three steps: not ready; no new connections; all answered."""

    def __init__(self, app: App, config: ServerConfig):
        super().__init__(
            uvicorn.Config(
                app.asgi,
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
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets=None):
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    def handle_exit(self, sig, frame):
        """Unlike uvicorn's own, does not end the process by the signal."""
        if self._app.is_stopping and sig == signal.SIGINT:
            self.force_exit = True  # the second Ctrl-C
        self._app.is_stopping = True
        log("ending", signal=signal.Signals(sig).name)
        self._loop.call_soon_threadsafe(
            self._loop.call_later, self._drain_seconds, self._stop
        )

    def _stop(self):
        self.should_exit = True

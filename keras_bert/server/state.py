"""A server's models and config -> the state that its routes share."""

import time

from starlette.requests import Request

from keras_bert.server.config import ServerConfig
from keras_bert.server.json_values import shown
from keras_bert.server.limits import Limits
from keras_bert.server.metrics import Metrics
from keras_bert.server.refusal import Refusal
from keras_bert.server.versions import ModelVersions, not_servable


class ServerState:
    """The models, limits and counters that the routes of a server share.

    Attributes:
        models: The models, keyed by name.
        config: The settings of the server.
        limits: The limits, which count the texts and bytes in the server.
        metrics: The counters.
        started: The time at which the server started, in Unix seconds.
        is_stopping: Whether the server has received a signal to shut down. If
            so, /readyz says that the server is not ready.
    """

    def __init__(self, models: dict[str, ModelVersions], config: ServerConfig):
        self.models = models
        self.config = config
        self.limits = Limits(config)
        self.metrics = Metrics(self.limits, models.values())
        self.started = int(time.time())
        self.is_stopping = False

    def model_in_path(
        self, request: Request
    ) -> tuple[ModelVersions, int | None]:
        """Returns the model and the number of the version that the path names.

        The number is None if the path does not name a version.
        """
        names = request.path_params
        model = self.models.get(names["model"])
        number = int(names["version"]) if names["version"] else None
        if model is None:
            raise not_servable(names["model"][:100], number)
        request.scope["record"]["model"] = model.name
        label = names["label"]
        return model, model.number_of(label) if label else number

    def model_named(self, request: Request, name: object) -> ModelVersions:
        """Returns the model with this name.

        If the name is None, the `model` in the URL's query is the name. If the
        query has no `model` either, the server's only model is returned.
        """
        if name is None:
            name = request.query_params.get("model")
        if name is None and len(self.models) == 1:
            (name,) = self.models
        model = self.models.get(name) if isinstance(name, str) else None
        known = ", ".join(self.models)
        if name is None:
            raise Refusal(
                f"This server has the models {known}; set model to one of "
                "them.",
                404,
            )
        if model is None:
            raise Refusal(
                f"The model {shown(name)} does not exist; this server has "
                f"{known}.",
                404,
            )
        request.scope["record"]["model"] = model.name
        return model

"""The types of a contract: its routes, and the form of its errors."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keras_bert.predict.function import Columns, Function
from keras_bert.server.refusal import Refusal

DEFAULT_SIGNATURE = "serving_default"
Values = Mapping[str, Any]  # the JSON object in a body


class Call(NamedTuple):
    """A call of one of the model's signatures.

    Attributes:
        name: The name of the signature.
        function: The function of the signature.
        columns: The inputs of the signature, keyed by name.
        write: A function that turns the outputs into the JSON of the answer.
    """

    name: str
    function: Function
    columns: Columns
    write: Callable[[Columns], str]


class Forward(NamedTuple):
    """A route that passes each body on to another route.

    Attributes:
        path_of: A function that takes a body and returns the path of the route
            that answers the body.
    """

    path_of: Callable[[Values], str]


def _write_error(refusal: Refusal) -> dict[str, Any]:
    return {"error": refusal.sentence}


class Contract(NamedTuple):
    """The routes for one kind of client.

    Attributes:
        routes: The function of each route, keyed by "GET /path" or "POST
            /path". A GET function takes the request and the `ServerState`, and
            returns JSON or a response. A POST function takes the body and the
            `Servable`, and returns a `Call`. `{model}` in a path stands for the
            name of a model. If a path has no `{model}`, the name is in the
            body's field "model".
        write_error: A function that returns the JSON value of an error.
        checks_bodies: Whether a body must fit its schema in openapi.json.
        needs_key: Whether a client must send the key, if the server has one.
    """

    routes: Mapping[str, Any]
    write_error: Callable[[Refusal], Any] = _write_error
    checks_bodies: bool = True
    needs_key: bool = True

"""openapi.json, the table of all routes -> the route of a request.

The schemas of bodies in it also say what is refused.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from keras_bert.server.json_requests import shown
from keras_bert.server.refusal import Refusal

_TEXT = (Path(__file__).parent / "openapi.json").read_text(encoding="utf-8")
# As in TensorFlow Serving, whose versions are integers of 64 bits. It has no
# model with a slash in its name.
_MODEL = (
    r"(?P<model>NAMES[^/:]+)"
    r"(/versions/(?P<version>[0-9]{1,19})|/labels/(?P<label>[^/:]+))?"
)
_TYPES = {"string": str, "integer": int, "boolean": bool, "array": list}
_TYPES |= {"object": dict, "null": NoneType}


class Route(NamedTuple):
    """What is answered at a path.

    Attributes:
        name: Its name in the log and in the metrics; "" for no route.
        needs_key: Whether a client must have the key, if there is one.
        schema: What its body is.
    """

    name: str
    needs_key: bool = True
    schema: Mapping[str, Any] = {}


class Routes:
    """The routes of a server, by method and path.

    Attributes:
        openapi: The description of all routes in JSON.

    Args:
        pages: More paths for GET, with their routes.
        models: The names of the models.
    """

    openapi = _TEXT

    def __init__(self, pages: Mapping[str, Route], models: Iterable[str]):
        names = "".join(f"{re.escape(name)}|" for name in models)
        any_model = _MODEL.replace("NAMES", names)
        document = json.loads(_TEXT)
        self._schemas = document["components"]["schemas"]
        self._exact = {("GET", path): route for path, route in pages.items()}
        self._patterns = []
        for path, operations in document["paths"].items():
            pattern = re.compile(
                path.replace("{model}", any_model), re.I | re.A
            )
            for method in {"get", "post"} & set(operations):
                route = _route(operations[method])
                if "{model}" in path:
                    self._patterns.append((method.upper(), pattern, route))
                else:
                    self._exact[method.upper(), path] = route

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """Returns the route and the names in the path; HEAD goes with GET."""
        method = "GET" if method == "HEAD" else method
        if route := self._exact.get((method, path)):
            return route, {}
        for of_method, pattern, route in self._patterns:
            if of_method == method and (match := pattern.fullmatch(path)):
                return route, match.groupdict()
        return Route(""), {}

    def check(
        self, value: Any, schema: Mapping[str, Any], name: str, about: str = ""
    ) -> None:
        """Raises Refusal if a value of a body does not fit its schema."""
        schema = self._resolved(schema)
        types, values = schema["type"], schema.get("enum")
        about = schema.get("description", about)
        if (
            type(value) not in map(_TYPES.get, types)
            or value not in (values or [value])
            or (value == [] and "minItems" in schema)
            or (type(value) is int and value < schema.get("minimum", value))
        ):
            expected = " or ".join(filter(None, values or types))
            found = "empty" if value == [] else shown(value)
            sentence = f"{name} is {found}, but must be {expected}."
            raise Refusal(f"{sentence} {about}".strip())
        if isinstance(value, dict):
            for key in schema.get("required", ()):
                if key not in value:
                    field = self._resolved(schema["properties"][key])
                    about = field.get("description", "")
                    raise Refusal(f"{name} has no {key}. {about}".strip())
            fields = schema.get("properties", {})
            for key, field in fields.items():
                if key in value:
                    self.check(value[key], field, key)
            is_closed = schema.get("additionalProperties") is False
            for key in value.keys() - fields.keys() if is_closed else ():
                raise Refusal(
                    f"{name} has the key {shown(key)}, which is not read here; "
                    f"the keys are {', '.join(fields)}."
                )
        elif isinstance(value, list):
            for entry in value:
                self.check(entry, schema["items"], f"Part of {name}", about)

    def _resolved(self, schema):
        reference = schema.get("$ref", "").rpartition("/")[2]
        return self._schemas.get(reference, schema)


def _route(operation):
    name = operation["operationId"].partition("_")[0]
    body = operation.get("requestBody", {}).get("content", {})
    schema = body.get("application/json", {}).get("schema", {})
    return Route(name, operation.get("security") != [], schema)

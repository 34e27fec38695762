"""The routes of all contracts -> the route of a request.

openapi.json describes the routes. Its schemas of bodies also decide which
bodies are refused.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from keras_bert.server.contract import Contract
from keras_bert.server.json_values import shown
from keras_bert.server.refusal import Refusal

OPENAPI = (Path(__file__).parent / "openapi.json").read_text(encoding="utf-8")
# The path is as in TensorFlow Serving, whose versions are integers of 64 bits.
# NAMES is replaced by our models, because their names may contain slashes.
_MODEL = (
    r"(?P<model>NAMES[^/:]+)"
    r"(/versions/(?P<version>[0-9]{1,19})|/labels/(?P<label>[^/:]+))?"
)
_TYPES = {"string": str, "integer": int, "boolean": bool, "array": list}
_TYPES |= {"object": dict, "null": NoneType}


class Route(NamedTuple):
    """The route of a request, and how the server answers it.

    Attributes:
        contract: The contract that has the route.
        name: The route's name in the log and in the metrics; "" for no route.
        answer: The contract's entry for the route; None for no route.
        needs_key: Whether a client must send the key, if the server has one.
        schema: The JSON schema of a request's body; None for any body.
    """

    contract: Contract = Contract({})
    name: str = ""
    answer: Any = None
    needs_key: bool = True
    schema: Mapping[str, Any] | None = None


class Routes:
    """The routes of a server, by method and path.

    Args:
        contracts: The contracts whose routes are served.
        models: The names of the models.
    """

    def __init__(self, contracts: Iterable[Contract], models: Iterable[str]):
        names = "".join(f"{re.escape(name)}|" for name in models)
        any_model = _MODEL.replace("NAMES", names)
        document = json.loads(OPENAPI)
        self._schemas = document["components"]["schemas"]
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns = []
        for contract in contracts:
            for place, answer in contract.routes.items():
                method, path = place.split(" ")
                operation = document["paths"].get(path, {}).get(method.lower())
                route = _route(contract, answer, operation or {})
                if "{model}" in path:
                    pattern = path.replace("{model}", any_model)
                    matcher = re.compile(pattern, re.I | re.A)
                    self._patterns.append((method, matcher, route))
                else:
                    self._exact.setdefault(path, {})[method] = route

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """Returns the route of a request, and the names in its path.

        The method HEAD has the same routes as GET.
        """
        method = "GET" if method == "HEAD" else method
        routes = self._exact.get(path, {})
        if method in routes:
            return routes[method], {}
        for of_method, matcher, route in self._patterns:
            if of_method == method and (match := matcher.fullmatch(path)):
                return route, match.groupdict()
        # If the path has a route for another method, that route's contract
        # writes the error.
        return next((Route(x.contract) for x in routes.values()), Route()), {}

    def check(
        self, value: Any, schema: Mapping[str, Any], name: str, about: str = ""
    ) -> None:
        """Raises Refusal if a value of a body does not fit its schema."""
        schema = self._resolved(schema)
        types, values = schema["type"], schema.get("enum")
        about = schema.get("description", about)
        is_known = type(value) in map(_TYPES.get, types)
        expected = ""
        if not is_known or value not in (values or [value]):
            expected = "be " + " or ".join(filter(None, values or types))
        elif value == [] and "minItems" in schema:
            expected = "have an entry"
        elif type(value) is int and value < schema.get("minimum", value):
            expected = f"be at least {schema['minimum']}"
        if expected:
            given = "empty" if value == [] else shown(value)
            sentence = f"{name} is {given}, but must {expected}."
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
                    f"{name} has the unknown key {shown(key)}; the keys are "
                    f"{', '.join(fields)}."
                )
        elif isinstance(value, list):
            for entry in value:
                self.check(entry, schema["items"], f"Part of {name}", about)

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        reference = schema.get("$ref", "").rpartition("/")[2]
        return self._schemas.get(reference, schema)


def _route(contract: Contract, answer: Any, operation: dict) -> Route:
    name = operation.get("operationId", "").partition("_")[0]
    needs_key = contract.needs_key and operation.get("security") != []
    body = operation.get("requestBody", {}).get("content", {})
    schema = body.get("application/json", {}).get("schema")
    return Route(
        contract,
        name or answer.__name__,
        answer,
        needs_key,
        schema if contract.checks_bodies else None,
    )

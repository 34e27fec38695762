"""openapi.json: it is valid, and says what the server does."""

import json
import re

import jsonschema
import numpy as np
import pytest
from openapi_spec_validator import validate
from small_server import serving

from keras_bert.server import app
from keras_bert.server.contract import Call, Contract
from keras_bert.server.contracts import CONTRACTS, page


@pytest.fixture(scope="module")
def document(client):
    return client.get("/openapi.json").json()


def _operations(document):
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method in ("get", "post"):
                yield path, method, operation


def test_the_document_is_valid(document):
    validate(document)


def test_every_route_has_an_answer(document, client):
    described = {f"{x.upper()} {path}" for path, x, _ in _operations(document)}
    routes = {x for contract in CONTRACTS for x in contract.routes}
    assert described == {x for x in routes if not _is_of_the_page(x)}


def _is_of_the_page(route):
    return route in page.CONTRACT.routes or route in page.FILES.routes


def test_a_contract_is_a_file_and_a_line(client, monkeypatch):
    def read(values, servable):
        """Asks for upper case."""
        function = servable.signatures["upper"]
        texts = np.array([x.encode() for x in values["texts"]], object)

        def write(outputs):
            return json.dumps({values["model"]: outputs["upper"][0].decode()})

        return Call("upper", function, {"text": texts}, write)

    def count(request, server):
        return json.dumps(len(server.models))

    new = Contract(
        {"POST /v9/upper": read, "GET /v9/count": count},
        write_error=lambda refusal: {"message": refusal.sentence},
    )
    monkeypatch.setattr(app, "CONTRACTS", (*CONTRACTS, new))
    with serving({"small": client.model}) as server:
        answer = server.post("/v9/upper", json={"texts": ["a film"]})
        assert answer.json() == {"small": "A FILM"}
        assert server.get("/v9/count").json() == 1
        # Also a path with another method has the errors of its contract.
        for method, path in (("POST", "/v9/count"), ("GET", "/v9/upper")):
            error = server.request(method, path)
            assert error.status_code == 404
            assert "see /docs" in error.json()["message"]
        error = server.post("/v9/upper", json={"texts": 1, "model": "no"})
        assert "no" in error.json()["message"]
        assert server.post("/embed", json={"inputs": "a"}).status_code == 200


def _resolved(value, document):
    *_, kind, name = value.get("$ref", "//").split("/")
    return document["components"][kind][name] if name else value


@pytest.mark.parametrize("server", ["client", "reranker"])
def test_the_examples_are_answered_as_the_schemas_say(
    server, document, request
):
    client = request.getfixturevalue(server)
    num_answered = 0
    for path, method, operation in _operations(document):
        body = _resolved(operation.get("requestBody", {}), document)
        content = body.get("content", {}).get("application/json", {})
        url = path.replace("{model}", "small")
        response = client.request(
            method, url, json=content.get("example") if content else None
        )
        status = str(response.status_code)
        found = operation["responses"].get(
            status, operation["responses"].get("default")
        )
        found = _resolved(found, document)["content"].get("application/json")
        if found is None:
            continue
        schema = {**found["schema"], "components": document["components"]}
        jsonschema.validate(response.json(), schema)
        num_answered += status == "200"
    assert num_answered >= 8


def test_every_field_of_a_body_has_a_schema(document):
    """Otherwise `Routes.check` would end with an error."""

    def look(schema):
        schema = _resolved(schema, document)
        assert isinstance(schema["type"], list), schema
        for field in schema.get("properties", {}).values():
            look(field)
        if "array" in schema["type"]:
            look(schema["items"])

    looked = 0
    for path, _, operation in _operations(document):
        if "requestBody" in operation and "{model}" not in path:
            content = operation["requestBody"]["content"]["application/json"]
            look(content["schema"])
            looked += 1
    routes = [x for contract in CONTRACTS for x in contract.routes]
    posts = [x for x in routes if x.startswith("POST") and "{" not in x]
    assert looked == len(posts) >= 8


def test_the_page_of_the_routes_needs_no_network(client):
    page = client.get("/docs").text
    links = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert "page/docs.js" in links
    for link in links:
        assert client.get(f"/{link.removeprefix('./')}").status_code == 200
    assert "//" not in re.sub(
        "(?m)^// .*$", "", client.get("/page/docs.js").text
    )


def test_a_model_is_described(client, reranker):
    found = client.get("/info").json()
    assert found["model_id"] == "small"
    assert found["model_type"] == {"encoder": {"id2label": {}}}
    assert found["max_input_length"] == 40
    assert found["prompts"] == {"query": "ask "}
    assert "reranker" in reranker.get("/info?model=small").json()["model_type"]
    assert client.get("/info?model=no").status_code == 404


def test_a_name_with_a_slash(client):
    models = {"owner/name": client.model, "owner/name/x": client.model}
    with serving(models) as server:
        body = {"instances": ["a"], "signature_name": "upper"}
        for place in ("owner/name", "owner%2Fname", "owner/name/x/versions/1"):
            answer = server.post(f"/v1/models/{place}:predict", json=body)
            assert answer.json() == {"predictions": ["A"]}
            path = f"/v1/models/{place}/metadata"
            assert server.get(path).status_code == 200
        sdk = {"x-stainless-lang": "python"}
        found = server.get("/v1/models/owner/name", headers=sdk).json()
        assert found["object"] == "model"
        body = {"inputs": "a", "model": "owner/name"}
        assert server.post("/embed", json=body).status_code == 200
        statuses = {"owner": 404, "owner/other": 400, "Owner/Name": 404}
        for place, status in statuses.items():
            assert server.get(f"/v1/models/{place}").status_code == status


def test_one_of_several_models_must_be_named(client):
    with serving({"a": client.model, "b": client.model}) as several:
        error = several.get("/info").json()["error"]
        assert error == (
            "This server has the models a, b; set model to one of them."
        )
        assert several.get("/info?model=b").status_code == 200
        for url, model in (
            ("/embed?model=b", {}),
            ("/embed?model=b", {"model": None}),
            ("/embed", {"model": "b"}),
        ):
            body = {"inputs": "a film", **model}
            assert several.post(url, json=body).status_code == 200

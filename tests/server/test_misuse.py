"""What people send by mistake: a right answer, or one sentence with 400."""

import json

import numpy as np
import pytest

from keras_bert.server import app

PREDICT = "/v1/models/small:predict"
EMBEDDINGS = "/v1/embeddings"


def _predict(signature, **body):
    return PREDICT, {"signature_name": signature, **body}


def _embed(**body):
    return EMBEDDINGS, {"model": "small", "input": "aa", **body}


SIMILAR = {"inputs": {"source_sentence": "a", "sentences": ["b"]}}


def _similar(**parameters):
    return "/similarity", {**SIMILAR, "parameters": parameters}


WRONG = [
    # One value in place of a list, and the reverse.
    (_predict("upper", instances="a"), "list"),
    (_predict("upper", instances=[]), "list with a value"),
    (_predict("upper", inputs="a"), "shape"),
    (_predict("upper", inputs={"text": "a"}), "shape"),
    (_predict("upper", inputs={}), "Missing named input: text"),
    (_predict("upper", inputs=[{"text": "a"}]), "string"),
    (_predict("upper", instances=[["a"]]), "shape"),
    (_predict("upper", instances=[[]]), "shape"),
    (_predict("upper", instances=["a", ["b"]]), "string"),
    # Other types.
    (_predict("upper", instances=[1]), "string"),
    (_predict("upper", instances=["a", None]), "string"),
    (_predict("upper", instances=[{"text": {"text": "a"}}]), "string"),
    (_predict("upper", instances=[{"b64": 7}]), "text"),
    (_predict("upper", instances=[{"text": {"b64": "ä"}}]), "base64"),
    (_predict("upper", instances=[{"b64": "YQ==", "a": 1}]), "text"),
    # Other names.
    (_predict("upper", instances=[{"sentence": "a"}]), "text"),
    (_predict("upper", instances=[{"text": "a", "label": 1}]), "text"),
    (_predict("upper", instances=["a", {"text": "a"}]), "object"),
    (_predict("upper", instances=[{"text": "a"}, "a"]), "element: 1"),
    (_predict("upper", instances=["\ud800"]), "surrogate"),
    (_predict("upper", inputs={"sentence": ["a"]}), "text"),
    (_predict("upper", texts=["a"]), "'inputs' or 'instances'"),
    (_predict("upper", instances=["a"], inputs=["a"]), "only one of"),
    (_predict("Upper", instances=["a"]), "upper"),
    (_predict(None, instances=["a"]), "None not found"),
    (_predict({}, instances=["a"]), "serving_default"),
    # Pairs in other forms.
    (_predict("pair", instances=[["a", "b"]]), "left"),
    (_predict("pair", instances=[{"left": "a", "rigth": "b"}]), "right"),
    (_predict("pair", instances=[{"left": ["a"], "right": ["b"]}]), "shape"),
    (_predict("pair", inputs=[["a", "b"]]), "right"),
    (_predict("pair", inputs={"left": ["a"], "right": "b"}), "shape"),
    (_predict("pair", inputs={"left": ["a"], "right": []}), "right 0"),
    # Lists in a row.
    (_predict("tag", instances=["a b"]), "shape"),
    (_predict("tag", instances=[["a"], ["b", "c"]]), "same length"),
    (_predict("tag", instances=[["a", 7]]), "string"),
    (_predict("tag", instances=[["a", ["b"]]]), "string"),
    (_predict("tag", instances=[[["a"]]]), "shape"),
    # Not JSON, or not an object.
    ((PREDICT, b""), "JSON Parse error"),
    ((PREDICT, b'{"instances": ["a",]}'), "JSON Parse error"),
    ((PREDICT, '{"instances": ["é"]}'.encode("latin-1")), "utf-8"),
    ((PREDICT, '{"instances": ["a"]}'.encode("utf-16")), "utf-8"),
    ((PREDICT, ["a"]), "object"),
    # Embeddings.
    (
        _embed(input=[]),
        "input is empty, but must have an entry. A text or a list",
    ),
    (_embed(input=None), "string"),
    (_embed(input=[["a", "b"]]), "string"),
    (_embed(input=["a", None]), "string"),
    (_embed(input=[[1, 2], [3]]), "Token ids are refused"),
    (_embed(input="\ud800"), "surrogate"),
    (_embed(dimensions=2.0), "must be integer"),
    (_embed(dimensions=True), "must be integer"),
    (_embed(dimensions=0), "was trained"),
    (_embed(dimensions=4), "vectors of 2 or 3 numbers"),
    (_embed(dimensions=10**400), "vectors of 2 or 3 numbers"),
    (_embed(dimensions=float("nan")), "must be integer"),
    (_embed(encoding_format=["float"]), "float or base64"),
    (_embed(encoding_format="hex"), "float or base64"),
    # Unknown keys.
    (_predict("upper", inputs={"text": ["a"], "x": 1}), "'inputs' has 'x', bu"),
    (_embed(dimension=2), "has the unknown key 'dimension'"),
    (_embed(truncate=True), "the keys are input, model"),
    (("/embed", {"inputs": "a", "input": "b"}), "unknown key 'input'"),
    (("/embed", {"inputs": "a", "prompt": "query"}), "unknown key 'prompt'"),
    (("/embed", {"inputs": "a", "encoding_format": "base64"}), "float"),
    (
        ("/tokenize", {"inputs": "a", "truncate": True}),
        "has the unknown key 'truncate'",
    ),
    (
        ("/similarity", {**SIMILAR, "normalize": True}),
        "has the unknown key 'normalize'",
    ),
    (_similar(dimensions=4), "vectors of 2 or 3 numbers"),
    (_similar(dimension=2), "unknown key 'dimension'"),
    (
        ("/similarity", {"inputs": {**SIMILAR["inputs"], "texts": []}}),
        "inputs has the unknown key 'texts'",
    ),
    # The form of the body says which route it is.
    (("/", {}), "The body has no inputs"),
    (("/", {"inputs": 7}), "must be string"),
    (("/", {"inputs": {"sentences": ["a"]}}), "inputs has no source_sentence"),
    (("/", {"query": "a"}), "does not score texts for a query"),
    (("/", b""), "JSON Parse error"),
    ((EMBEDDINGS, b"a"), "JSON Parse error"),
]


def _post(client, path, body):
    content = body if isinstance(body, bytes) else json.dumps(body)
    return client.post(path, content=content)


@pytest.mark.parametrize(("request_", "reason"), WRONG)
def test_a_mistake_is_told_in_one_sentence(client, request_, reason):
    path, body = request_
    response = _post(client, path, body)
    assert response.status_code == 400, response.text
    assert list(response.json()) == ["error"]
    error = response.json()["error"]
    if path == EMBEDDINGS:
        assert error["type"] == "invalid_request_error"
        error = error["message"]
    assert reason in error
    assert 10 < len(error) < 500 and "\n" not in error


UPPER = {"predictions": ["A"]}
TAGS = {"predictions": [["B-a"]]}
BLANKS = b'\r\n{"instances":\t["a"],\r\n"signature_name":"upper"}\r\n'
AA = np.array([2, 2 / 3, 1 / 3], np.float32).tolist()
ASK_AA = np.array([6, 2, 1 / 7], np.float32).tolist()


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (_predict("upper", instances=[{"text": "a"}]), UPPER),
        (_predict("upper", instances=[{"text": {"b64": "YQ=="}}]), UPPER),
        (_predict("upper", instances=["5"]), {"predictions": ["5"]}),
        (_predict("upper", instances=['{"a"']), {"predictions": ['{"A"']}),
        (_predict("upper", instances=[" a\r\n"]), {"predictions": [" A\r\n"]}),
        (_predict("upper", inputs=[]), {"outputs": []}),
        (_predict("upper", instances=["a"], parameters={"n": 5}), UPPER),
        (_predict("tag", instances=[{"words": ["a"]}]), TAGS),
        ((PREDICT, BLANKS), UPPER),
    ],
)
def test_what_is_unusual_is_answered(client, request_, answer):
    response = _post(client, *request_)
    assert response.status_code == 200, response.text
    assert response.json() == answer


@pytest.mark.parametrize(
    ("body", "vector"),
    [
        ({}, AA),
        ({"input": ["aa"]}, AA),
        ({"dimensions": None}, AA),
        ({"dimensions": 3}, AA),
        ({"encoding_format": None}, AA),
        ({"encoding_format": "float", "user": "me"}, AA),
        ({"input_type": "query"}, ASK_AA),
    ],
)
def test_an_unusual_request_for_embeddings(client, body, vector):
    response = _post(client, *_embed(**body))
    assert response.status_code == 200, response.text
    assert response.json()["data"][0]["embedding"] == vector


def test_a_text_that_was_cut_is_reported(client):
    texts = ["aa", "a" * 40]
    for more, expected in (
        ({"prompt_name": "query"}, [False, True]),
        ({"prompt_name": "query", "encoding_format": "base64"}, [False, True]),
        ({}, [None, None]),  # this signature does not tell
    ):
        response = _post(client, *_embed(input=texts, **more))
        found = [x.get("truncated") for x in response.json()["data"]]
        assert found == expected


def test_dimensions_are_checked_before_the_model_runs(client, monkeypatch):
    monkeypatch.setattr(app, "split_rows", None)
    assert _post(client, *_embed(dimensions=4)).status_code == 400
    assert _post(client, *_embed(dimensions=2)).status_code == 500


@pytest.mark.parametrize("name", ["", 7, "Small"])
def test_an_unknown_model_for_embeddings(client, name):
    response = _post(client, *_embed(model=name))
    assert response.status_code == 404
    error = response.json()["error"]
    assert error["message"].endswith("does not exist; this server has small.")
    assert error["code"] == "model_not_found"


@pytest.mark.parametrize("route", [f"GET {EMBEDDINGS}", f"POST {EMBEDDINGS}/"])
def test_a_wrong_route(client, route):
    response = client.request(*route.split(" "), content='{"instances": ["a"]}')
    assert response.status_code == 400
    error = response.json()["error"]
    assert "Malformed request" in (
        error["message"] if isinstance(error, dict) else error
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "application/json; charset=latin-1"},
        {"Accept": "text/html"},
    ],
)
def test_headers_do_not_matter(client, headers):
    body = {"instances": ["a"], "signature_name": "upper"}
    response = client.post(PREDICT, content=json.dumps(body), headers=headers)
    assert response.json() == UPPER

"""Status, metadata, classify and regress, read as official messages."""

import json

import pytest
from google.protobuf import json_format
from small_server import client_of
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
)


def _parse(values, message):
    return json_format.ParseDict(values, message())


def test_the_status(client):
    status = {"error_code": "OK", "error_message": ""}
    version = {"version": "1", "state": "AVAILABLE", "status": status}
    for path in ("small", "small/versions/1"):
        values = client.get(f"/v1/models/{path}").json()
        assert values == {"model_version_status": [version]}
        response = _parse(values, get_model_status_pb2.GetModelStatusResponse)
        assert response.model_version_status[0].version == 1


@pytest.mark.parametrize("path", ["small", "small/versions/1"])
def test_the_metadata(client, path):
    values = client.get(f"/v1/models/{path}/metadata").json()
    spec = _parse(values["model_spec"], model_pb2.ModelSpec)
    assert (spec.name, spec.version.value) == ("small", 1)
    signatures = _parse(
        values["metadata"]["signature_def"],
        get_model_metadata_pb2.SignatureDefMap,
    ).signature_def
    methods = {
        name: signature.method_name.rpartition("/")[2]
        for name, signature in signatures.items()
    }
    assert methods["pair"] == "predict"
    assert methods["classify"] == "classify"
    assert methods["regress"] == "regress"
    assert set(signatures["pair"].inputs) == {"left", "right"}
    assert set(signatures["pair"].outputs) == {"joined", "is_empty"}
    words = signatures["tag"].inputs["words"]
    assert [dim.size for dim in words.tensor_shape.dim] == [-1, -1]


def _ask(client, method, **body):
    body = json.dumps({"signature_name": method, **body})
    return client.post(f"/v1/models/small:{method}", content=body)


def test_classify(client):
    examples = [{"x": [1.5], "name": "n"}, {"x": 0.5, "name": {"b64": "w6Q="}}]
    answer = _ask(client, "classify", examples=examples).json()
    assert answer == {
        "results": [[["n", 1.5], ["n!", 0.75]], [["ä", 0.5], ["ä!", 0.25]]]
    }


def test_regress_and_the_context(client):
    assert _ask(client, "regress", examples=[{"x": 3}, {"x": True}]).json() == {
        "results": [1.5, 0.5]
    }
    answer = _ask(
        client, "regress", context={"x": 3}, examples=[{}, {"other": "a"}]
    )
    assert answer.json() == {"results": [1.5, 1.5]}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"instances": ["a"]}, "Expecting 'examples'"),
        ({"examples": []}, "Expecting 'examples' value to be a list with a va"),
        ({"examples": {"x": 1}}, "Expecting 'examples' value to be a list"),
        ({"examples": [{"x": "1"}]}, "type"),
        ({"examples": [{"x": 1}], "context": []}, "Example must be JSON obj"),
        ({"examples": ["a"]}, "Example must be JSON object"),
        ({"examples": [{"x": None}]}, "The feature x is None, but must be"),
        ({"examples": [{"x": [[1]]}]}, "The feature x is [[1]]"),
        ({"examples": [{"x": [1, 1.5]}]}, "all integers or all decimals"),
        ({"examples": [{"x": 2**63}]}, "without loss of precision"),
        ({"examples": [{"\ud800": 1}]}, "half of a surrogate pair"),
        ({"examples": [{}]}, "is required but could not be found"),
        ({"examples": [{"x": 1e39}]}, "without loss of precision"),
        ({"examples": [{"x": 1}], "signature_name": "pair"}, "ing/predict"),
        ({"examples": [{"x": 1}], "signature_name": "regress"}, "ng/regress"),
        ({"examples": [{"x": 1}], "signature_name": ""}, "Was: tensorflow"),
    ],
)
def test_wrong_examples(client, body, reason):
    response = _ask(client, "classify", **body)
    assert response.status_code == 400, response.text
    assert reason in response.json()["error"]


def test_labels_of_versions(upper_model):
    with client_of(upper_model, labels={"stable": 1}) as client:
        path = "/v1/models/small/labels/stable"
        status = client.get(path).json()["model_version_status"]
        assert [x["version"] for x in status] == ["1"]
        assert client.get(f"{path}/metadata").status_code == 200
        answer = client.post(
            f"{path}:predict",
            json={"instances": ["a"], "signature_name": "version"},
        )
        assert answer.json() == {"predictions": [1]}

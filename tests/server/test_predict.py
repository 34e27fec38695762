"""predict: TensorFlow Serving's JSON form."""

import json
import math

import pytest

PAIR = {"signature_name": "pair"}
# Of 32 bits.
THIRD, TWO_THIRDS = 0.3333333432674408, 0.6666666865348816


def _ask(client, **body):
    return client.post("/v1/models/small:predict", content=json.dumps(body))


def _error(client, status=400, **body):
    response = _ask(client, **body)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    return response.json()["error"]


def test_a_row_has_an_object_of_all_outputs(client):
    response = _ask(client, instances=["aa", "b"])
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "predictions": [
            {"embedding": [2.0, TWO_THIRDS, THIRD], "num_tokens": 2},
            {"embedding": [1.0, THIRD, 0.5], "num_tokens": 1},
        ]
    }


def test_columns_have_an_array_for_each_output(client):
    expected = {
        "outputs": {"embedding": [[2.0, TWO_THIRDS, THIRD]], "num_tokens": [2]}
    }
    assert _ask(client, inputs=["aa"]).json() == expected
    assert _ask(client, inputs={"text": ["aa"]}).json() == expected


def test_a_single_output_drops_its_name(client):
    upper = {"signature_name": "upper"}
    rows = _ask(client, instances=["ä", {"text": "b"}["text"]], **upper)
    assert rows.json() == {"predictions": ["Ä", "B"]}
    columns = _ask(client, inputs=["ä"], **upper)
    assert columns.json() == {"outputs": ["Ä"]}
    # An output without rows has only the column form.
    mean = {"signature_name": "mean"}
    assert _ask(client, inputs=["aa"], **mean).json() == {"outputs": 2}
    assert "send 'inputs'" in _error(client, instances=["a"], **mean)


def test_several_inputs_have_names(client):
    rows = [{"left": "a", "right": "b"}, {"left": "", "right": ""}]
    assert _ask(client, instances=rows, **PAIR).json() == {
        "predictions": [
            {"is_empty": False, "joined": "a|b"},
            {"is_empty": True, "joined": "|"},
        ]
    }
    columns = {"left": ["a"], "right": ["b"]}
    assert _ask(client, inputs=columns, **PAIR).json() == {
        "outputs": {"is_empty": [False], "joined": ["a|b"]}
    }


def test_bytes_are_base64(client):
    body = {"signature_name": "upper"}
    for instance in ({"b64": "w6Q="}, {"b64": "w6Q"}, {"b64": "w6\nQ="}):
        answer = _ask(client, instances=[instance], **body)
        assert answer.json() == {"predictions": ["Ä"]}
        named = _ask(client, instances=[{"text": instance}], **body)
        assert named.json() == {"predictions": ["Ä"]}
        answer = _ask(client, inputs=[instance], **body)
        assert answer.json() == {"outputs": ["Ä"]}
    assert _error(client, instances=[{"b64": "!"}]) == "Unable to base64 decode"


def test_numbers_and_what_json_does_not_have(client):
    row = {"x": [1, 2.5], "count": 2**60, "flag": True}
    response = _ask(client, instances=[row], signature_name="numbers")
    assert response.text == (
        '{"predictions": [{"count": 1152921504606846977, '
        '"double": [0.3333333333333333, 0.8333333333333333], "flag": false, '
        '"raw_bytes": {"b64": "MTE1MjkyMTUwNDYwNjg0Njk3Ng=="}, '
        f'"special": [0.10000000149011612, {THIRD}, 2.0, 9000000.0, NaN, '
        "-Infinity]}]}"
    )
    row["x"] = [math.inf, math.nan]
    (answer,) = _ask(client, instances=[row], signature_name="numbers").json()[
        "predictions"
    ]
    assert answer["double"][0] == math.inf
    assert math.isnan(answer["double"][1])


@pytest.mark.parametrize(
    "changes",
    [
        {"count": 1.0},
        {"count": True},
        {"count": 2**63},
        {"count": 10**400},
        {"count": "1"},
        {"flag": 1},
        {"flag": None},
        {"x": [2**24 + 1, 0]},
        {"x": [1e39, 0]},
        {"x": [10**400, 0]},
        {"x": ["1", 0]},
        {"x": [True, 0]},
        {"x": [{"b64": "YQ=="}, 0]},
        {"x": [1]},
        {"x": 1},
        {"x": [[1, 2]]},
        {"x": [[], []]},
    ],
)
def test_a_wrong_number_is_refused(client, changes):
    row = {"x": [1, 2], "count": 3, "flag": True}
    rows = {"instances": [row, {**row, **changes}]}
    _error(client, signature_name="numbers", **rows)
    columns = {
        name: [value, changes.get(name, value)] for name, value in row.items()
    }
    _error(client, signature_name="numbers", inputs=columns)


@pytest.mark.parametrize(
    "body",
    [
        b"\x00",
        b'{"instances": ' + b"[" * 200_000,
        b'{"instances": ' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"inputs": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
        b'{"instances": [' + b"9" * 5000 + b"]}",
        b'{"instances": [1e999]}',
    ],
)
def test_a_wrong_body_is_refused(client, body):
    response = client.post("/v1/models/small:predict", content=body)
    assert response.status_code == 400
    assert list(response.json()) == ["error"]


def test_a_byte_order_mark_and_any_text_are_read(client):
    texts = ["", "\0", "🎉🎉", "\u2028", "a" * 50_000]
    body = {"inputs": {"left": texts, "right": texts}, **PAIR}
    content = b"\xef\xbb\xbf" + json.dumps(body).encode()
    response = client.post("/v1/models/small:predict", content=content)
    joined = response.json()["outputs"]["joined"]
    assert joined == [f"{text}|{text}" for text in texts]


def test_what_the_model_cannot_read_is_the_clients_error(client):
    error = _error(client, instances=["a b"], signature_name="parse")
    assert error == (
        "The model cannot read this input: StringToNumberOp could not "
        "correctly convert string: a b"
    )
    columns = {"left": ["a", "b"], "right": ["c"]}
    assert _error(client, inputs=columns, **PAIR) == (
        "The inputs differ in their number of rows: left 2, right 1."
    )


@pytest.mark.parametrize(
    ("route", "status", "error"),
    [
        ("POST no:predict", 404, "not found for request: Latest(no)"),
        ("POST small/versions/7:predict", 404, "request: Specific(small, 7)"),
        ("POST small/labels/x:predict", 400, "Unrecognized servable version "),
        ("GET no", 404, "Could not find any versions of model no"),
        ("GET small/versions/7", 404, "Could not find version 7 of model"),
        ("GET ../../etc/passwd", 404, ""),
        ("GET ", 400, ""),
        *(
            (route, 400, "Malformed request")
            for route in (
                *("GET small:predict", "PUT small:predict"),
                *("GET %2e%2e/%2e%2e", "POST /small:predict"),
                *("POST small:explain", "POST small:Predict:"),
                *("POST small/predict", "POST small/versions/x:predict"),
                *(f"POST small/versions/{x}:predict" for x in (-1, 10**20)),
            )
        ),
    ],
)
def test_a_wrong_path(client, route, status, error):
    method, path = route.split(" ")
    response = client.request(
        method, f"/v1/models/{path}", content=b'{"instances": ["a"]}'
    )
    assert response.status_code == status
    assert error in response.json()["error"]


def test_the_path_is_read_in_any_case(client):
    body = {"instances": ["a"], "signature_name": "upper"}
    response = client.post("/V1/Models/small/VERSIONS/1:Predict", json=body)
    assert response.json() == {"predictions": ["A"]}

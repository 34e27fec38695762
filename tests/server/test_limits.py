"""Requests that are too large, too slow or too many."""

import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from small_server import client_of, holding, wait_until

from keras_bert.server import app, json_values
from keras_bert.server.config import ServerConfig
from keras_bert.server.limits import Limits
from keras_bert.server.refusal import Refusal

PREDICT = "/v1/models/small:predict"


@pytest.fixture(scope="module")
def limited(upper_model):
    with client_of(
        upper_model,
        max_body_bytes=2000,
        max_queue_bytes=2500,
        max_texts=5,
        max_queue_texts=6,
        max_text_chars=100,
    ) as client:
        yield client


def _texts(count):
    return {"instances": ["a"] * count, "signature_name": "upper"}


def _refusal(response, status):
    assert response.status_code == status, response.text
    return response.json()["error"]


def test_the_body(limited):
    body = json.dumps({"instances": ["a" * 2000]})
    for content in (body, (part.encode() for part in body)):  # or in chunks
        error = _refusal(limited.post(PREDICT, content=content), 413)
        assert "larger than 2000 bytes" in error and "--max_body_bytes" in error
    assert limited.server.state.limits.waiting_bytes == 0


def test_the_texts(limited):
    error = _refusal(limited.post(PREDICT, json=_texts(6)), 413)
    assert "6 texts" in error and "--max_texts" in error
    assert limited.server.state.limits.waiting_texts == 0


def test_the_number_of_values(upper_model):
    upper = {"signature_name": "upper"}
    with client_of(upper_model) as client:
        for content in (
            b'{"instances": [' + b"[]," * 130_000 + b"[]]}",
            b'{"instances": ["' + b"," * 20 + b'", ' + b"1," * 260_000 + b"1]}",
        ):
            error = _refusal(client.post(PREDICT, content=content), 413)
            assert "more than 250000 values" in error
        # What is inside of strings does not count; one of them is not closed.
        texts = ['[{,"\\' * 19_000] * 5
        response = client.post(PREDICT, json={"instances": texts, **upper})
        assert response.json() == {"predictions": texts}
        content = json.dumps({"instances": texts})[:-3]
        assert client.post(PREDICT, content=content).status_code == 400


def test_a_compressed_body(limited):
    headers = {"Content-Encoding": "gzip"}
    body = gzip.compress(json.dumps(_texts(1)).encode())
    response = limited.post(PREDICT, content=body, headers=headers)
    assert "Content-Encoding gzip" in _refusal(response, 415)
    headers = {"Content-Encoding": "Identity"}
    response = limited.post(PREDICT, json=_texts(1), headers=headers)
    assert response.status_code == 200


def test_the_length_of_a_text(limited):
    # Characters, not bytes, count; all strings of a row count.
    upper, pair = {"signature_name": "upper"}, {"signature_name": "pair"}
    body = {"instances": ["狐" * 100], **upper}
    assert limited.post(PREDICT, json=body).status_code == 200
    for body in (
        {"instances": ["a", "狐" * 101], **upper},
        {"instances": ["a", "\0" * 101], **upper},
        {"inputs": {"left": ["", "a"], "right": ["", "b" * 100]}, **pair},
        {"inputs": {"left": [], "right": ["", "b" * 101]}, **pair},
    ):
        error = _refusal(limited.post(PREDICT, json=body), 413)
        assert error.startswith("Text 2 has 101 characters")
        assert "--max_text_chars" in error


@pytest.mark.parametrize(
    ("num_chars", "num_endings", "reason"),
    [
        (10, 6000, "has 6000 texts, but the limit is 1000"),
        (20_000, 600, "12000600 characters, but .* for each of its endings"),
        (100, 600, None),
    ],
)
def test_a_context_counts_for_each_ending(num_chars, num_endings, reason):
    columns = {
        "context": np.array([b"a" * num_chars], object),
        "endings": np.array([[b"b"] * num_endings], object),
    }
    limits = Limits(ServerConfig())
    if reason is None:
        with limits.texts(columns) as num_texts:
            assert num_texts == limits.waiting_texts == num_endings
        return
    with pytest.raises(Refusal, match=reason), limits.texts(columns):
        pass


def test_a_large_request_leaves_room_for_small_ones():
    limits = Limits(ServerConfig(max_texts=100, max_queue_texts=100))

    def texts(count):
        return limits.texts({"text": np.array([b"a"] * count, object)})

    with texts(60):
        with pytest.raises(Refusal, match="60 texts are waiting"), texts(21):
            pass
        with texts(20), texts(10), texts(5), texts(1):
            assert limits.waiting_texts == 96
    with texts(100):
        assert limits.waiting_texts == 100


def test_the_queue(limited):
    limits = limited.server.state.limits
    pair = {"instances": [{"left": "", "right": ""}], "signature_name": "pair"}
    with (
        holding(limited.server) as (calls, go_on),
        ThreadPoolExecutor(1) as pool,
    ):
        answer = pool.submit(limited.post, PREDICT, json=_texts(4))
        wait_until(lambda: calls)
        response = limited.post(PREDICT, json=_texts(3))
        error = _refusal(response, 429)
        assert "4 texts are waiting" in error and "--max_queue_texts" in error
        assert response.headers["retry-after"] == "1"
        assert limited.post(PREDICT, json=pair).status_code == 200
        # The bodies of all requests count together.
        limits.waiting_bytes += 2400
        error = _refusal(limited.post(PREDICT, json=_texts(90)), 429)
        assert "--max_queue_bytes" in error
        limits.waiting_bytes -= 2400
        metrics = limited.get("/monitoring/prometheus/metrics").text
        assert "keras_bert_waiting_texts 4.0" in metrics
        go_on.set()
        assert answer.result().json() == {"predictions": ["A"] * 4}
    assert limits.waiting_texts == limits.waiting_bytes == 0


def test_no_text_of_a_user_is_logged(client, monkeypatch):
    events = []
    monkeypatch.setattr(
        app, "log", lambda event, **values: events.append(values)
    )

    def fail_on_purpose(*args):
        raise RuntimeError("hidden text")

    client.post(PREDICT, json={"instances": ["hidden text"]})
    client.post(PREDICT, json={"instances": ["hidden text", 1]})
    client.get("/hidden text?hidden text")
    client.get("/v1/models/hidden text")
    monkeypatch.setattr(json_values, "read_json", fail_on_purpose)
    response = client.post(PREDICT, json={"instances": ["hidden text"]})
    assert "hidden" not in _refusal(response, 500)
    assert [x.get("status") for x in events] == [200, 400, 404, 404, None, 500]
    assert events[0]["texts"] == 1
    # What fails is named, with its file and line.
    assert re.fullmatch(
        r".*test_limits\.py:\d+ fail_on_purpose", events[4]["frames"][-1]
    )
    assert "hidden" not in json.dumps(events)

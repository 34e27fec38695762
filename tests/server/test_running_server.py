"""The openai client and Prometheus' own parser; SIGTERM, to a process."""

import math
import signal
import threading
from pathlib import Path

import httpx
import huggingface_hub
import numpy as np
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families
from small_server import listening, read_log, running_server, wait_until

from keras_bert.server.app import App
from keras_bert.server.config import ServerConfig

TEXTS = ["aa", "", "a" * 40]
VECTORS = [[n, n / 3, 1 / (n + 1)] for n in (2, 0, 40)]


@pytest.fixture(scope="module")
def server(client):
    app = App({"small": client.model}, ServerConfig(), "key")
    with (
        listening(app) as ((host, port), _),
        httpx.Client(
            base_url=f"http://{host}:{port}",
            headers={"Authorization": "Bearer key"},
        ) as server,
    ):
        yield server
    app.close()


@pytest.fixture(scope="module")
def process(small_model):
    with running_server(small_model, {"KERAS_BERT_API_KEY": "key"}) as client:
        client.headers["Authorization"] = "Bearer key"
        yield client


@pytest.fixture(scope="module")
def openai_client(server):
    with openai.OpenAI(
        api_key="key", base_url=f"{server.base_url}/v1", max_retries=0
    ) as client:
        yield client


@pytest.mark.parametrize("encoding_format", ["float", "base64", None])
def test_embeddings(openai_client, encoding_format):
    more = {"encoding_format": encoding_format} if encoding_format else {}
    answer = openai_client.embeddings.create(model="small", input=TEXTS, **more)
    assert answer.model == "small"
    assert [x.index for x in answer.data] == [0, 1, 2]
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == 42
    if encoding_format == "base64":
        assert all(isinstance(x.embedding, str) for x in answer.data)
    else:
        for found, expected in zip(answer.data, VECTORS, strict=True):
            assert found.embedding == pytest.approx(expected, abs=1e-6)
    one = openai_client.embeddings.create(model="small", input="aa")
    assert one.data[0].embedding == pytest.approx(VECTORS[0])


def test_dimensions(openai_client):
    answer = openai_client.embeddings.create(
        model="small", input="aa", dimensions=2
    )
    vector = answer.data[0].embedding
    assert vector[1] == pytest.approx(vector[0] / 3)
    assert math.hypot(*vector) == pytest.approx(math.hypot(*VECTORS[0]))


def test_the_models(openai_client):
    (model,) = openai_client.models.list()
    assert (model.id, model.object) == ("small", "model")
    assert model.owned_by == "keras_bert"
    stranger = openai_client.with_options(api_key="wrong")
    with pytest.raises(openai.AuthenticationError) as error:
        stranger.models.list()
    assert error.value.code == "invalid_api_key"
    assert openai_client.models.retrieve("small") == model
    with pytest.raises(openai.NotFoundError, match="'no' does not exist"):
        openai_client.models.retrieve("no")


def test_the_hub_s_client_knows_the_address_alone(server):
    hub = huggingface_hub.InferenceClient(str(server.base_url), token="key")
    found = hub.feature_extraction(["aa", ""], normalize=False)
    assert found == pytest.approx(np.array(VECTORS[:2]), abs=1e-6)
    shorter = hub.feature_extraction("aa", dimensions=2, truncate=True)
    assert shorter == pytest.approx(np.array([[3, 1]]) / math.sqrt(10))
    likeness = hub.sentence_similarity("aa", other_sentences=["aa", "a" * 9])
    assert likeness[0] == pytest.approx(1) and likeness[1] < 0.99


def test_a_prompt_is_named(openai_client):
    def ask(**more):
        answer = openai_client.embeddings.create(
            model="small", input=TEXTS, **more
        )
        return [x.embedding for x in answer.data]

    expected = openai_client.embeddings.create(
        model="small", input=[f"ask {text}" for text in TEXTS]
    )
    found = ask(extra_body={"prompt_name": "query"})
    for vector, other in zip(found, expected.data, strict=True):
        assert vector == pytest.approx(other.embedding)
    assert ask(extra_body={"prompt_name": None}) == ask() != found


def test_metrics(server):
    def read():
        text = server.get("/monitoring/prometheus/metrics").text
        return {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    before = read()
    body = {"inputs": ["a", "b", "c" * 100]}
    assert server.post("/v1/models/small:predict", json=body).status_code == 200
    assert server.post("/v1/models/small:predict").status_code == 400
    after = read()

    def grown(name, **labels):
        key = (f"keras_bert_{name}", *sorted(labels.items()))
        return after[key] - before.get(key, 0)

    predict = {"model": "small", "route": "predict"}
    assert grown("requests_total", status="200", **predict) == 1
    assert grown("requests_total", status="400", **predict) == 1
    assert grown("request_seconds_count", **predict) == 2
    of = {"model": "small", "signature": "serving_default"}
    assert grown("queue_seconds_count", **of) == 3
    assert grown("queue_seconds_sum", **of) > 0
    assert grown("compute_seconds_count", **of) == 1
    assert grown("batch_texts_sum", **of) == 3
    assert grown("text_tokens_sum", **of) == 102
    assert after[("keras_bert_waiting_texts",)] == 0
    assert after[("process_resident_memory_bytes",)] > 1e8


@pytest.mark.slow
def test_tensorflow_writes_no_text_of_a_user(process):
    body = {"instances": ["a hidden text"], "signature_name": "regress"}
    answer = process.post("/v1/models/small:predict", json=body)
    assert answer.status_code == 400 and "a hidden text" in answer.text
    for file in (process.log_file, process.error_file):
        assert "hidden" not in Path(file).read_text()


# The last test of this file: it ends the process.
@pytest.mark.slow
def test_requests_in_flight_are_answered_after_sigterm(process):
    body = {"instances": ["a"], "signature_name": "slow"}
    answers = []

    def ask():
        answers.append(process.post("/v1/models/small:predict", json=body))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    gauge = "keras_bert_waiting_texts 0.0"
    path = "/monitoring/prometheus/metrics"
    wait_until(lambda: gauge not in process.get(path).text)
    process.process.send_signal(signal.SIGTERM)
    wait_until(lambda: process.get("/readyz").status_code == 503)
    alive = process.get("/healthz")
    assert alive.status_code == 200
    assert alive.headers["connection"] == "close"
    for thread in threads:
        thread.join()
    assert [x.json() for x in answers] == [{"predictions": [1]}] * 3
    assert process.process.wait(timeout=60) == 0
    events = read_log(process.log_file)
    assert (events[-1]["event"], events[-1]["cut_off"]) == ("ended", 0)
    assert [x for x in events if x.get("signal") == "SIGTERM"]

"""Batches: what a text is answered does not depend on the others."""

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from small_server import client_of

from keras_bert.server.batching import Batcher
from keras_bert.server.config import ServerConfig
from keras_bert.server.rows import BYTES_PER_PART, Rows, join_rows, split_rows


def _ask(client, instances, **body):
    response = client.post(
        "/v1/models/small:predict", json={"instances": instances, **body}
    )
    assert response.status_code == 200, response.text
    return response.json()["predictions"]


@pytest.mark.parametrize("signature", ["serving_default", "split", "upper"])
def test_a_text_is_answered_as_if_it_were_alone(client, signature):
    generator = random.Random(5)
    texts = ["ab " * generator.choice([0, 1, 4, 50]) for _ in range(45)]

    def ask(texts):
        answers = _ask(client, texts, signature_name=signature)
        return [_comparable(answer) for answer in answers]

    alone = [ask([text])[0] for text in texts]
    if signature == "serving_default":
        alone = [pytest.approx(vector, abs=1e-5) for vector in alone]
    # In one request, which is split by the lengths of the texts.
    assert ask(texts) == alone
    # In 45 requests at the same time.
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda text: ask([text])[0], texts))
    assert answers == alone


def _comparable(answer):
    if "embedding" in answer:
        return answer["embedding"]
    if "words.text" in answer:  # the rows of one request are as wide
        width = sum(text != "" for text in answer["words.text"])
        return {name: values[:width] for name, values in answer.items()}
    return answer


async def _answered(client, name, texts, batcher):
    """Returns what a signature answers to a request, and its parts."""
    function = client.model.versions()[0].servable.signatures[name]
    columns = {"text": np.array(texts, object)}
    parts = await batcher.answer(split_rows(function, columns, 32))
    return join_rows(function, parts), parts


def test_padding_of_other_requests_is_cut(client):
    texts = [b"a b", b"", b"c d e"]

    async def ask():
        batcher = Batcher(ServerConfig())
        requests = [texts, *([texts[i % 3]] for i in range(60))]
        return await asyncio.gather(
            *(_answered(client, "split", x, batcher) for x in requests)
        )

    answers = asyncio.run(ask())
    calls = [part.batch for _, (part,) in answers if part.batch]
    assert [num_rows for _, num_rows in calls] == [32, 31]
    (together, _), *answers = answers
    assert together["words.text"].shape == (3, 3)
    for i, (answer, _) in enumerate(answers):
        width = (2, 0, 3)[i % 3]
        assert answer["words.text"].shape == (1, width)
        assert answer["words.start"].tolist() == [[1] * width]


@pytest.mark.parametrize(
    ("signature", "good", "bad"),
    [
        ("parse", "1.5", "no number"),
        # TensorFlow's message has bytes that are not UTF-8, and so Python
        # raises UnicodeDecodeError in place of TensorFlow's error.
        ("regress", {"b64": "CgwKCgoBeBIFGgMKAQM="}, {"b64": "gICA"}),
    ],
)
def test_another_text_of_a_batch_does_no_harm(client, signature, good, bad):
    def ask(instance):
        return client.post(
            "/v1/models/small:predict",
            json={"instances": [instance], "signature_name": signature},
        )

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(ask, [good, bad] * 30))
    assert [answer.status_code for answer in answers] == [200, 400] * 30
    assert "model cannot read this input" in answers[1].json()["error"]


def test_rows_wait_together_if_their_lists_are_as_long(client):
    for width in range(12):  # more shapes than threads
        (answer,) = _ask(client, [["x"] * width], signature_name="tag")
        assert answer == ["B-x"] * width


def test_a_request_is_cut_into_batches_by_length(client):
    texts = [b"b" * 300] * 3 + [b"a"] * 70

    async def ask():
        batcher = Batcher(ServerConfig())
        return await _answered(client, "upper", texts, batcher)

    outputs, parts = asyncio.run(ask())
    assert outputs["upper"].tolist() == [text.upper() for text in texts]
    sizes = [len(part.places) for part in parts]
    # A part is not padded much.
    assert sorted(sizes) == [3, 6, 32, 32]
    assert {0, 1, 2} in [{*part.places} for part in parts]
    # Both share a call.
    calls = [part.batch[1] for part in parts if part.batch]
    assert sorted(calls) == [9, 32, 32]


class _Recorder:
    """Makes parts of requests, and records in which calls they are answered."""

    def __init__(self):
        self.calls = []
        self.batcher = Batcher(
            ServerConfig(num_batch_threads=1, batch_timeout_ms=0)
        )

    def answer(self, name, *sizes, queue="queue"):
        parts = [
            Rows(
                self._call,
                np.arange(1),
                {"name": np.array([name], object)},
                size,
                queue,
            )
            for size in sizes
        ]
        return self.batcher.answer(parts)

    def _call(self, columns):
        time.sleep(0.01)
        self.calls.append("".join(columns["name"]))
        return columns


def test_requests_take_turns():
    async def ask():
        recorder = _Recorder()
        large = BYTES_PER_PART
        answers = [
            recorder.answer("a", *[large] * 5),
            recorder.answer("b", *[large] * 2),
            recorder.answer("c", 10),
            recorder.answer("d", 10 * large),
            recorder.answer("e", 10, queue="other"),
            recorder.answer("f", 10, queue=None),
        ]
        await asyncio.sleep(0)
        assert len(await answers[2]) == 1
        answers.append(recorder.answer("g", 10))
        await asyncio.gather(*answers)
        return recorder.calls

    # A call has room for two large parts.
    calls = asyncio.run(ask())
    assert calls == ["ab", "ca", "d", "e", "f", "ba", "ga", "a"]


def test_what_nobody_waits_for_is_not_computed():
    async def ask():
        recorder = _Recorder()
        large = recorder.answer("a", *[BYTES_PER_PART] * 50)
        small = recorder.answer("b", 10)
        await small
        large.cancel()
        await asyncio.sleep(0.1)
        (answer,) = await recorder.answer("c", 10)
        assert answer.outputs["name"].tolist() == ["c"]
        return recorder.calls

    # The call that had begun is computed to its end.
    assert asyncio.run(ask()) == ["ab", "aa", "c"]


def test_batches_of_one(upper_model):
    with client_of(upper_model, max_batch_size=1) as client:
        answers = _ask(client, ["a", "b"] * 20, signature_name="upper")
        assert answers == ["A", "B"] * 20
        metrics = client.get("/monitoring/prometheus/metrics").text
        line = 'batch_texts_count{model="small",signature="upper"} 40.0'
        assert line in metrics

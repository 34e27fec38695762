"""/embed and /similarity, as text-embeddings-inference answers them."""

from types import SimpleNamespace

import numpy as np
import pytest

from keras_bert.predict.function import Function, Spec
from keras_bert.server.contracts.vectors import call_for_vectors

# Of the texts with this number of bytes, as the small model makes them.
VECTORS = {n: np.array([n, n / 3, 1 / (n + 1)]) for n in (1, 2, 6, 40, 44)}
UNIT = {n: vector / np.linalg.norm(vector) for n, vector in VECTORS.items()}
BOTH = {"inputs": "a", "input_type": "query", "prompt_name": "query"}
FROM_THE_LEFT = {"inputs": "a", "truncation_direction": "left"}
NO_LIST = {"inputs": {"source_sentence": "a", "sentences": "a"}}


def _post(client, path, **body):
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def _error(client, path, status=400, **body):
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    (error,) = response.json().values()
    return error


def test_the_vectors_have_the_length_1(client):
    found = _post(client, "/embed", inputs=["aa", "a" * 40])
    assert found == [pytest.approx(UNIT[n], abs=1e-6) for n in (2, 40)]
    (found,) = _post(client, "/embed", inputs="aa", model="small")
    assert found == pytest.approx(UNIT[2], abs=1e-6)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"normalize": False}, VECTORS[2]),
        ({"normalize": None, "truncate": None}, UNIT[2]),
        ({"prompt_name": "query"}, UNIT[6]),
        ({"input_type": "query"}, UNIT[6]),
        ({"input_type": "search_query"}, UNIT[6]),
        # The model has no prompt for documents.
        ({"input_type": "document"}, UNIT[2]),
        ({"dimensions": 2}, VECTORS[2][:2] / np.linalg.norm(VECTORS[2][:2])),
        ({"dimensions": 3, "truncation_direction": "Right"}, UNIT[2]),
    ],
)
def test_what_a_request_can_ask_for(client, more, expected):
    (found,) = _post(client, "/embed", inputs=["aa"], **more)
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_type_without_a_prompt_does_not_get_the_default_prompt():
    prompts = {"query": "ask "}
    names = ["serving_default", "embed_", "embed_query"]
    strings = Spec(np.dtype(object), (None,))
    vectors = Spec(np.dtype("float32"), (None, 3))
    function = Function.of_network(
        dict, {"text": strings}, {"embedding": vectors}
    )
    servable = SimpleNamespace(
        signatures=dict.fromkeys(names, function),
        description={"prompts": prompts},
    )
    for role, name in (("document", names[1]), ("query", names[2])):
        call = call_for_vectors({"input_type": role}, "a", servable, str, True)
        assert call.name == name
    assert call_for_vectors({}, "a", servable, str, True).name == names[0]


def test_a_long_text_is_refused_or_cut(client):
    body = {"inputs": ["aa", "a" * 40], "prompt_name": "query"}
    error = _error(client, "/embed", 413, **body)
    assert error.startswith("Text 2 is longer than the model reads; split it")
    assert len(_post(client, "/embed", truncate=True, **body)) == 2


def test_the_cosines(client):
    inputs = {"source_sentence": "aa", "sentences": ["a", "a" * 40, "aa"]}
    found = _post(client, "/similarity", inputs=inputs)
    expected = [UNIT[2] @ UNIT[n] for n in (1, 40, 2)]
    assert found == pytest.approx(expected, abs=1e-6)
    settings = {"prompt_name": "query", "truncate": True}
    found = _post(client, "/similarity", inputs=inputs, parameters=settings)
    assert found[1] == pytest.approx(UNIT[6] @ UNIT[44], abs=1e-6)
    settings = {"input_type": "query"}
    assert "Text 3 is longer" in _error(
        client, "/similarity", 413, inputs=inputs, parameters=settings
    )


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/embed", {}, "The body has no inputs. A text or a list of texts."),
        ("/embed", {"inputs": "a", "truncate": "yes"}, "boolean or null"),
        ("/embed", {"inputs": "a", "normalize": 1}, "boolean or null"),
        ("/embed", {"inputs": "a", "prompt_name": "no"}, "the prompts query"),
        ("/embed", {"inputs": "a", "prompt_name": ["query"]}, "string or null"),
        ("/embed", {"inputs": "a", "input_type": "no"}, "query or search_que"),
        ("/embed", BOTH, "give one of them without input_type"),
        ("/embed", FROM_THE_LEFT, "must be right or Right. The end"),
        ("/similarity", {"inputs": ["a"]}, "must be object"),
        ("/similarity", NO_LIST, "sentences is 'a', but must be array"),
    ],
)
def test_a_wrong_request_is_told(client, path, body, reason):
    assert reason in _error(client, path, **body)


def test_a_model_without_vectors(reranker):
    error = _error(reranker, "/embed", inputs="a")
    assert error.startswith("The signature serving_default of this model ret")

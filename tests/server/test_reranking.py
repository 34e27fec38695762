"""/rerank as text-embeddings-inference and Cohere answer it; /tokenize."""

import math

import pytest
from small_saved_model import save_small_reranker
from small_server import client_of

# The scores are the bytes of a document, divided by 10, minus 1.
TEXTS = ["a" * 5, "b" * 20, "", "c" * 20]
RAW = [-0.5, 1.0, -1.0, 1.0]
ORDER = [1, 3, 0, 2]  # equal scores in the order of the texts
ONE = {"query": "q", "documents": ["a"]}


def _sigmoid(x):
    return 1 / (1 + math.exp(-x))


def _post(client, path, status=200, **body):
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    return response.json()


def test_the_form_of_text_embeddings_inference(reranker):
    found = _post(reranker, "/rerank", query="q", texts=TEXTS)
    assert found == [
        {"index": i, "score": pytest.approx(_sigmoid(RAW[i]), abs=1e-6)}
        for i in ORDER
    ]
    raw = _post(
        reranker,
        "/rerank",
        query="q",
        texts=TEXTS,
        raw_scores=True,
        return_text=True,
    )
    assert [x["score"] for x in raw] == [RAW[i] for i in ORDER]
    assert [x["text"] for x in raw] == [TEXTS[i] for i in ORDER]


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank"])
def test_the_form_of_cohere(reranker, path):
    documents = [TEXTS[0], {"text": "d" * 21}, TEXTS[1]]
    found = _post(
        reranker,
        path,
        model="small",
        query="q",
        documents=documents,
        top_n=2,
        return_documents=True,
        max_tokens_per_doc=None,
    )
    assert found == {
        "model": "small",
        "results": [
            {
                "index": 1,
                "relevance_score": pytest.approx(_sigmoid(1.1), abs=1e-6),
                "truncated": True,
                "document": {"text": "d" * 21},
            },
            {
                "index": 2,
                "relevance_score": pytest.approx(_sigmoid(1.0), abs=1e-6),
                "truncated": False,
                "document": {"text": TEXTS[1]},
            },
        ],
    }


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"texts": TEXTS}, 400, "The body has no query."),
        ({"query": "q"}, 400, "Give either texts or"),
        ({"query": "q", "texts": ["a"], "documents": ["a"]}, 400, "Give eithe"),
        ({"query": ["q"], "texts": ["a"]}, 400, "must be string"),
        ({"query": "q", "texts": "a"}, 400, "texts is 'a', but must be array"),
        ({"query": "q", "texts": []}, 400, "texts is empty"),
        ({"query": "q", "documents": [{}]}, 400, "Part of documents has no te"),
        ({**ONE, "top_n": 0}, 400, "top_n is 0"),
        ({**ONE, "rank_fields": ["title"]}, 400, "must be null. Leave out"),
        ({"query": "q", "texts": ["", "a" * 21]}, 413, "Text 2 is longer"),
        ({"query": "q" * 10, "texts": ["a"]}, 413, "Text 1 is longer"),
    ],
)
def test_a_wrong_request_is_told(reranker, body, status, reason):
    assert reason in _post(reranker, "/rerank", status, **body)["error"]


def test_a_model_that_does_not_rank(client):
    error = _post(client, "/rerank", 400, query="q", texts=["a"])["error"]
    assert error.startswith("This model, of the kind encoder, does not score")


def test_scores_from_0_to_1_have_no_raw_form(tmp_path):
    save_small_reranker(tmp_path / "small" / "1", "sigmoid")
    with client_of(tmp_path / "small") as client:
        body = {"query": "q", "texts": TEXTS}
        found = _post(client, "/rerank", **body)
        assert [x["score"] for x in found] == [RAW[i] for i in ORDER]
        error = _post(client, "/rerank", 400, raw_scores=True, **body)["error"]
        assert "score_activation=linear" in error


def test_the_pieces_of_texts(reranker):
    text = "The  foxes, né"
    cls, *pieces, sep = _post(reranker, "/tokenize", inputs=text)[0]
    special = {"special": True, "start": None, "stop": None}
    assert cls == {"id": 2, "text": "[CLS]", **special}
    assert sep == {"id": 3, "text": "[SEP]", **special}
    assert [(x["id"], x["start"], x["stop"]) for x in pieces] == [
        (5, 0, 3),
        (6, 5, 8),
        (7, 8, 10),
        (1, 10, 11),
        (1, 12, 14),
    ]
    assert all(x["text"] == text[x["start"] : x["stop"]] for x in pieces)
    body = {"inputs": [text, ""], "add_special_tokens": False}
    assert _post(reranker, "/tokenize", **body) == [pieces, []]
    body |= {"inputs": "fox", "input_type": "document"}  # the prompt "The "
    (found,) = _post(reranker, "/tokenize", **body)
    assert [x["id"] for x in found] == [5, 6]


def test_the_pieces_of_many_texts(reranker):
    texts = ["fox " * 900, "a", "fox " * 400, "", "the fox"]
    alone = [_post(reranker, "/tokenize", inputs=x)[0] for x in texts]
    assert _post(reranker, "/tokenize", inputs=texts * 9) == alone * 9
    # The answer is 30 times as long as the texts.
    texts = ["! " * 50_000] * 3
    error = _post(reranker, "/tokenize", 413, inputs=texts)["error"]
    assert error.startswith("The texts have 300000 characters")
    assert error.endswith("takes 250000 at a time; send fewer.")


def test_a_model_without_a_vocabulary(client):
    error = _post(client, "/tokenize", 400, inputs="a")["error"]
    assert error.startswith("This model has no vocabulary file, or")

import numpy as np
import pytest

from keras_bert.errors import InputError
from keras_bert.vectors import exact_search as module
from keras_bert.vectors.exact_search import search

QUERIES, VECTORS, SIZE = 11, 53, 5


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_QUERIES_PER_BLOCK", 4)
    monkeypatch.setattr(module, "_VECTORS_PER_BLOCK", 7)


@pytest.fixture
def integers():
    """Small integers have exact products and many equal ones."""
    random = np.random.default_rng(3)
    shapes = (QUERIES, SIZE), (VECTORS, SIZE)
    return [random.integers(-2, 3, shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("k", [1, 3, 7, 20, VECTORS, VECTORS + 4])
def test_it_equals_a_stable_sort_of_all_scores(integers, k):
    queries, corpus = integers
    scores = queries @ corpus.T
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    found = search(queries, corpus, k, similarity="dot")
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_array_equal(
        found.scores, np.take_along_axis(scores, order, axis=1)
    )
    assert found.scores.dtype == np.float32


@pytest.mark.parametrize("length", [3, 1e25, 1e-25])
def test_the_cosine_does_not_depend_on_lengths(integers, length):
    queries, corpus = integers
    corpus[9] = 0
    lengths = np.linalg.norm(corpus, axis=1)
    expected = np.divide(
        queries @ corpus.T,
        np.linalg.norm(queries, axis=1)[:, None] * lengths,
        where=lengths > 0,
        out=np.zeros((QUERIES, VECTORS)),
    )
    found = search(length * queries, corpus, VECTORS)
    np.testing.assert_allclose(
        found.scores,
        np.take_along_axis(expected, found.indices, axis=1),
        atol=1e-6,
    )
    assert (np.diff(found.scores) <= 0).all()
    assert (np.sort(found.indices) == np.arange(VECTORS)).all()


def test_a_file_larger_than_the_memory_can_be_searched(integers, tmp_path):
    queries, corpus = integers
    np.save(tmp_path / "corpus.npy", corpus)
    mapped = np.load(tmp_path / "corpus.npy", mmap_mode="r")
    found, expected = search(queries, mapped, 6), search(queries, corpus, 6)
    np.testing.assert_array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", object])
def test_numbers_of_any_kind(integers, dtype):
    expected = search(*integers, 3, similarity="dot")
    queries, corpus = (x.astype(dtype) for x in integers)
    for some in ((queries, corpus), (queries.tolist(), corpus.tolist())):
        found = search(*some, np.int64(3), similarity="dot")
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.scores, expected.scores)


def test_no_query_and_no_vector(integers):
    queries, corpus = integers
    assert search(queries[:0], corpus, 3).indices.shape == (0, 0)
    assert search(queries, corpus[:0], 3).scores.shape == (QUERIES, 0)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"similarity": "l2"}, "similarity is 'l2', but must be one of cosine"),
        ({"top_k": 2.0}, "top_k is 2.0, but must be a whole number"),
        ({"top_k": True}, "top_k is True, but must be a whole number"),
        ({"top_k": "2"}, "top_k is '2', but must be a whole number"),
        ({"corpus": []}, r"The corpus must be finite numbers .* but got \[\]"),
        ({"corpus": [[1, 2], [3]]}, "The corpus must be finite numbers"),
        ({"corpus": ["a film"]}, r"The corpus must be finite numbers \[N, D"),
        ({"corpus": np.full([4, 5], 1e300)}, "corpus must be finite numbers"),
        ({"queries": None}, "queries must be finite numbers"),
        ({"queries": np.ones([2, 5]) * 1j}, "queries must be finite numbers"),
    ],
)
def test_nonsense_is_refused(integers, changes, message):
    queries, corpus = integers
    arguments = {"queries": queries, "corpus": corpus, "top_k": 2} | changes
    with pytest.raises(InputError, match=message):
        search(**arguments)

"""Exact search: the vectors of a corpus that are most similar to a query."""

import reprlib
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError, check_choice, check_count

# These limit the memory: the scores of one block take 16 MB.
_QUERIES_PER_BLOCK = 256
_VECTORS_PER_BLOCK = 16_384


class SearchResult(NamedTuple):
    """The K most similar vectors for each of Q queries, best first.

    Example:
        >>> result = keras_bert.vectors.search(np.eye(2), np.eye(2), top_k=1)
        >>> isinstance(result, keras_bert.vectors.SearchResult)
        True

    Attributes:
        indices: The indices of the vectors in the corpus, int64 [Q, K].
        scores: The similarities of these K vectors to their query, float32
            [Q, K].
    """

    indices: np.ndarray
    scores: np.ndarray


def search(
    queries: np.ndarray,
    corpus: np.ndarray,
    top_k: int,
    *,
    similarity: str = "cosine",
) -> SearchResult:
    """Returns the vectors of a corpus that are most similar to each query.

    Each query is compared with each vector, block by block. Vectors with the
    same score are in the order of the corpus.

    Example:
        >>> corpus = np.array([[1, 0], [0, 2], [3, 3]])
        >>> found = keras_bert.vectors.search([[1, 2]], corpus, top_k=2)
        >>> found.indices
        array([[2, 1]])
        >>> found.scores.round(2)
        array([[0.95, 0.89]], dtype=float32)

    Args:
        queries: The vectors of the queries, numbers [Q, D].
        corpus: The vectors of the corpus, numbers [N, D]. The corpus may be
            larger than the memory, if you pass the result of
            `np.load(file, mmap_mode="r")`: it is read block by block.
        top_k: The number of vectors to find for each query. If the corpus has
            fewer vectors, all are found.
        similarity: The measure: "cosine", or "dot" for the dot product. The
            cosine of a vector of zeros is 0.

    Raises:
        InputError: If the shapes do not match, if a number is not finite in
            float32, or if `top_k` or `similarity` is wrong.
    """
    top = TopVectors(queries, top_k, similarity=similarity)
    top.add(corpus)
    return top.found


class TopVectors:
    """A search in a corpus that is added block by block; see `search`.

    Attributes:
        found: The `SearchResult` for all vectors added so far.
    """

    def __init__(self, queries: np.ndarray, top_k: int, *, similarity: str):
        check_choice("similarity", similarity, ("cosine", "dot"))
        check_count("top_k", top_k)
        self._is_cosine = similarity == "cosine"
        self._queries = self._read(queries, "queries")
        self._top_k = top_k
        self._num_vectors = 0
        shape = len(self._queries), 0
        nothing = np.zeros(shape, "int64"), np.zeros(shape, "float32")
        self.found = SearchResult(*nothing)

    def add(self, vectors: np.ndarray) -> None:
        """Adds the next vectors of the corpus, [N, D], to the search."""
        if not isinstance(vectors, np.ndarray):
            vectors = _as_numbers(vectors, "corpus")
        if vectors.ndim != 2 or vectors.shape[1] != self._queries.shape[1]:
            raise InputError(
                f"The corpus has the shape {list(vectors.shape)}, but the "
                f"queries have {list(self._queries.shape)}; give vectors "
                "from the same model."
            )
        for start in range(0, len(vectors), _VECTORS_PER_BLOCK):
            block = vectors[start : start + _VECTORS_PER_BLOCK]
            self._add_block(self._read(block, "corpus"))

    def _add_block(self, block: np.ndarray) -> None:
        places = np.arange(len(block)) + self._num_vectors
        self._num_vectors += len(block)
        pieces = []
        for start in range(0, len(self._queries), _QUERIES_PER_BLOCK):
            rows = slice(start, start + _QUERIES_PER_BLOCK)
            with np.errstate(over="ignore", invalid="ignore"):
                new = self._queries[rows] @ block.T
            largest = new.max()  # NaN if a score is NaN
            indices, scores = (x[rows] for x in self.found)
            scores = np.concatenate([scores, new], axis=1)
            new_indices = np.broadcast_to(places, new.shape)
            indices = np.concatenate([indices, new_indices], axis=1)
            num_kept = min(self._top_k, scores.shape[1])
            # Of several equal scores, top_k takes the first.
            best, kept = (x.numpy() for x in tf.math.top_k(scores, num_kept))
            _check_finite(largest, best.min())
            pieces.append((np.take_along_axis(indices, kept, 1), best))
        if pieces:
            columns = zip(*pieces, strict=True)
            self.found = SearchResult(*map(np.concatenate, columns))

    def _read(self, vectors: Any, name: str) -> np.ndarray:
        vectors = _as_numbers(vectors, name)
        if not self._is_cosine:
            return vectors
        # In float32, the square of a large number would be infinite, and the
        # square of a small number would be 0.
        squares = np.einsum("nd,nd->n", vectors, vectors, dtype="float64")
        with np.errstate(over="ignore"):
            lengths = np.sqrt(squares)[:, None].astype("float32")
        _check_finite(lengths.max(initial=0))
        return vectors / np.where(lengths > 0, lengths, 1)


def _check_finite(*numbers: float) -> None:
    if not np.isfinite(numbers).all():
        raise InputError(
            "The dot product of two vectors or the norm of a vector exceeds "
            "the float32 maximum, 3.4e38; divide all vectors by the same "
            "number."
        )


def _as_numbers(vectors: Any, name: str) -> np.ndarray:
    """Returns an array, lists or a table of vectors as float32 [N, D]."""
    if getattr(vectors, "ndim", None) == 1:
        raise InputError(
            f"The {name} must be vectors [N, D], but one vector was given; "
            "write vector[None]."
        )
    try:
        array = np.asarray(vectors)
        if array.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):  # infinity is refused below
            array = array.astype("float32", copy=False)
        if array.ndim != 2 or not np.isfinite(array).all():
            raise ValueError
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The {name} must be finite numbers [N, D], but got "
            f"{reprlib.repr(vectors)}."
        ) from error
    return array

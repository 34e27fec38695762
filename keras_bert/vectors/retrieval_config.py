"""How a collection is searched."""

from __future__ import annotations

import dataclasses

from keras_bert.settings import check_settings, setting
from keras_bert.vectors.exact_search import SIMILARITIES


@dataclasses.dataclass(frozen=True)
class RetrievalConfig:
    """How a collection is searched; defaults as in BEIR.

    Example:
        >>> keras_bert.vectors.RetrievalConfig(top_k=100).similarity
        'model'

    Attributes:
        similarity: cosine, or dot for the dot product of two vectors; model
            for the one that the model was trained for.
        top_k: The number of documents found for each query.
        split: The name of the judgments: test for qrels/test.tsv.
        ignore_identical_ids: Whether a document with the id of the query is
            left out. In some collections, it is the query itself.
        batch_size: Number of texts in a batch.
    """

    similarity: str = setting("model", choices=("model", *SIMILARITIES))
    top_k: int = setting(1000, minimum=100)
    split: str = "test"
    ignore_identical_ids: bool = True
    batch_size: int = 32

    def __post_init__(self):
        check_settings(self)

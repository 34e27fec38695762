"""Texts by how well they fit a query: the request and its answer.

In text-embeddings-inference's form, and in Cohere's.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert.server.json_answers import check_whole
from keras_bert.server.json_requests import DEFAULT_SIGNATURE, Call
from keras_bert.server.json_values import to_bytes
from keras_bert.server.refusal import Refusal
from keras_bert.server.vector_requests import to_rows


def read_rerank(values: Mapping[str, Any], servable: Any) -> Call:
    """Returns the call that scores each text, together with the query."""
    description = servable.description
    activation = description.get("score_activation")
    if activation is None or len(description["text_fields"]) != 2:
        raise Refusal(
            f"This model, of the kind {description.get('kind', 'unknown')}, "
            "does not score a text for a query; serve one of the kind "
            "reranker, and export it with this release."
        )
    is_cohere, is_raw = "documents" in values, values.get("raw_scores")
    if is_cohere == ("texts" in values):
        raise Refusal("Give either texts or, in Cohere's form, documents.")
    if is_raw and activation == "sigmoid":
        raise Refusal(
            "This model has no raw_scores: its scores are from 0 to 1; export "
            "it with the setting score_activation=linear."
        )
    texts = [
        x["text"] if isinstance(x, dict) else x
        for x in values["documents" if is_cohere else "texts"]
    ]
    rows = to_rows(texts)
    queries = np.full(len(rows), to_bytes(values["query"]), object)
    first, second = description["text_fields"]

    def write(outputs):
        check_whole(outputs, {"truncate": is_cohere or values.get("truncate")})
        scores = outputs["score"].astype(float)
        if activation == "linear" and not is_raw:
            scores = 1 / (1 + np.exp(-scores))
        results = []
        for i in np.argsort(-scores, kind="stable")[: values.get("top_n")]:
            score = "relevance_score" if is_cohere else "score"
            result = {"index": int(i), score: scores[i]}
            if is_cohere and "truncated" in outputs:  # not in Cohere's form
                result["truncated"] = bool(outputs["truncated"][i])
            if values.get("return_text"):
                result["text"] = texts[i]
            if values.get("return_documents"):
                result["document"] = {"text": texts[i]}
            results.append(result)
        answer = {"model": values["model"], "results": results}
        return json.dumps(answer if is_cohere else results)

    signature = servable.signatures[DEFAULT_SIGNATURE]
    columns = {first: queries, second: rows}
    return Call(DEFAULT_SIGNATURE, signature, columns, write)

"""Cohere's REST API: texts ranked by a query.

text-embeddings-inference has another form of request, with `texts` instead of
`documents`. Each route takes both forms.
"""

import json
from typing import Any

import numpy as np

from keras_bert.predict.function import Columns
from keras_bert.server.contract import DEFAULT_SIGNATURE, Call, Contract, Values
from keras_bert.server.contracts.vectors import check_whole, to_rows
from keras_bert.server.json_values import check_finite, to_bytes
from keras_bert.server.refusal import Refusal


def read_rerank(values: Values, servable: Any) -> Call:
    """Returns the call that scores each text of a body for the body's query."""
    description = servable.description
    activation = description.get("score_activation")
    if activation is None or len(description["text_fields"]) != 2:
        raise Refusal(
            f"This model, of the kind {description.get('kind', 'unknown')}, "
            "does not score texts for a query; export a model of the kind "
            "reranker with this release, and serve it."
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

    def write(outputs: Columns) -> str:
        if not (is_cohere or values.get("truncate")):
            check_whole(outputs)
        scores = check_finite(outputs["score"].astype(float))
        if activation == "linear" and not is_raw:
            scores = 1 / (1 + np.exp(-scores))
        results = []
        for i in np.argsort(-scores, kind="stable")[: values.get("top_n")]:
            score = "relevance_score" if is_cohere else "score"
            result = {"index": int(i), score: scores[i]}
            if is_cohere and "truncated" in outputs:  # not part of Cohere's API
                result["truncated"] = bool(outputs["truncated"][i])
            if values.get("return_text"):
                result["text"] = texts[i]
            if values.get("return_documents"):
                result["document"] = {"text": texts[i]}
            results.append(result)
        answer = {"model": values["model"], "results": results}
        return json.dumps(answer if is_cohere else results)

    function = servable.signatures[DEFAULT_SIGNATURE]
    columns = {first: queries, second: rows}
    return Call(DEFAULT_SIGNATURE, function, columns, write)


CONTRACT = Contract(
    {"POST /v1/rerank": read_rerank, "POST /v2/rerank": read_rerank}
)

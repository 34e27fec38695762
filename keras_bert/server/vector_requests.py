"""Requests for vectors, their cosines, and the order of texts -> calls.

In the forms of OpenAI, text-embeddings-inference and Cohere.
"""

import functools
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert.server import json_answers
from keras_bert.server.json_requests import (
    DEFAULT_SIGNATURE,
    Call,
    shown,
    to_bytes,
)
from keras_bert.server.refusal import Refusal

_EMBEDDING = "embedding"
# What the texts are -> the names of prompts for it, the best one first, as in
# encode_query and encode_document of sentence-transformers.
_OF_QUERIES = ("query",)
_OF_DOCUMENTS = ("document", "passage", "corpus")
_PROMPTS: Mapping[Any, tuple[str, ...]] = {
    "query": _OF_QUERIES,
    "search_query": _OF_QUERIES,
    "document": _OF_DOCUMENTS,
    "passage": _OF_DOCUMENTS,
    "search_document": _OF_DOCUMENTS,
}


def path_of(values: Mapping[str, Any]) -> str:
    """Returns the route whose form a body has that was sent to /."""
    if "query" in values:
        return "/rerank"
    return "/similarity" if isinstance(values.get("inputs"), dict) else "/embed"


def read_embeddings(values: Mapping[str, Any], servable: Any) -> Call:
    """Reads OpenAI's request for vectors."""
    return _call(
        values, values["input"], servable, json_answers.write_embeddings
    )


def read_embed(values: Mapping[str, Any], servable: Any) -> Call:
    """Reads text-embeddings-inference's request for vectors."""
    return _call(values, values["inputs"], servable, json_answers.write_vectors)


def read_similarity(values: Mapping[str, Any], servable: Any) -> Call:
    """Reads text-embeddings-inference's request for cosines."""
    inputs, settings = values["inputs"], values.get("parameters") or {}
    texts = [inputs["source_sentence"], *inputs["sentences"]]
    return _call(settings, texts, servable, json_answers.write_similarities)


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
        may_cut = is_cohere or values.get("truncate")
        json_answers.check_whole(outputs, {"truncate": may_cut})
        scores = json_answers.finite(outputs["score"].astype(float))
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


def prompt_of(values: Mapping[str, Any], servable: Any) -> str | None:
    """Returns the name of the prompt of a request; None for the model's own.

    The request names it as `prompt_name`, or says what its texts are as
    `input_type`. The model may have no prompt for that.
    """
    name, role = values.get("prompt_name"), values.get("input_type")
    prompts = servable.description.get("prompts", {})
    if role is None and name in (None, *prompts):
        return name
    if name is not None:
        raise Refusal(
            f"prompt_name is {shown(name)}, but this model has the prompts "
            f"{', '.join(prompts) or '(none)'}; give one of them and no "
            "input_type, or leave it out."
        )
    return next((x for x in _PROMPTS[role] if x in prompts), None)


def to_rows(texts: str | list[str]) -> np.ndarray:
    """Returns a text or a list of texts as bytes."""
    texts = [texts] if isinstance(texts, str) else texts
    return np.array([to_bytes(text) for text in texts], object)


def _call(values, texts, servable, write):
    """Returns the call of the signature that makes the vectors."""
    prompt = prompt_of(values, servable)
    name = DEFAULT_SIGNATURE if prompt is None else f"embed_{prompt}"
    signature = servable.signatures.get(name)
    if (
        signature is None
        or _EMBEDDING not in signature.outputs
        or len(signature.inputs) != 1
    ):
        raise Refusal(
            f"The signature {name} of this model has no {_EMBEDDING}; export "
            "an encoder or a model of the kind embedding."
        )
    whole = signature.outputs[_EMBEDDING].shape[-1]
    sizes = {*servable.description.get("sizes", []), whole}
    size = values.get("dimensions") or whole
    if size not in sizes:
        raise Refusal(
            f"dimensions is {shown(size)}, but this model gives vectors of "
            f"{', '.join(map(str, sorted(sizes)))} numbers."
        )
    (input_name,) = signature.inputs
    write = functools.partial(write, values=values, size=size)
    return Call(name, signature, {input_name: to_rows(texts)}, write)

"""Texts -> a call for their vectors, with the prompts and sizes of the model.

Several contracts return vectors, each in a form of its own.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_bert.predict.function import Columns
from keras_bert.server.contract import DEFAULT_SIGNATURE, Call, Values
from keras_bert.server.json_values import check_finite, shown, to_bytes
from keras_bert.server.refusal import Refusal
from keras_bert.text.prompts import prompt_of_role

_EMBEDDING = "embedding"


def call_for_vectors(
    values: Values,
    texts: str | list[str],
    servable: Any,
    write: Callable[[np.ndarray, Columns], str],
    may_cut: bool,
) -> Call:
    """Returns a call of the signature that computes the vectors of texts.

    Args:
        values: The body, with `prompt_name`, `input_type` and `dimensions`, if
            given.
        texts: One or several texts.
        servable: The model.
        write: A function that makes the JSON from the vectors and all outputs.
            A vector that is cut to `dimensions` is scaled, so that its norm
            stays the same.
        may_cut: Whether the end of a text that is too long for the model may be
            cut off. Otherwise, such a text is refused.
    """
    prompt = prompt_of(values, servable)
    name = f"embed_{prompt}"
    # A model without a default prompt has no signature `embed_`.
    if prompt is None or (not prompt and name not in servable.signatures):
        name = DEFAULT_SIGNATURE
    function = servable.signatures.get(name)
    if (
        function is None
        or _EMBEDDING not in function.outputs
        or len(function.inputs) != 1
    ):
        raise Refusal(
            f"The signature {name} of this model returns no {_EMBEDDING}; "
            "export an encoder or a model of the kind embedding."
        )
    whole = function.outputs[_EMBEDDING].shape[-1]
    sizes = {*servable.description.get("sizes", []), whole}
    size = values.get("dimensions") or whole
    if size not in sizes:
        raise Refusal(
            f"dimensions is {shown(size)}, but this model was trained for "
            f"vectors of {' or '.join(map(str, sorted(sizes)))} numbers."
        )

    def write_vectors(outputs: Columns) -> str:
        if not may_cut:
            check_whole(outputs)
        vectors = check_finite(outputs[_EMBEDDING].astype(np.float32))
        if size != vectors.shape[1]:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = normalized(vectors[:, :size]) * lengths
        return write(vectors, outputs)

    (input_name,) = function.inputs
    return Call(name, function, {input_name: to_rows(texts)}, write_vectors)


def prompt_of(values: Values, servable: Any) -> str | None:
    """Returns the name of a request's prompt; None for the model's default.

    The request gives the name of the prompt as `prompt_name`, or the type of
    its texts as `input_type`. If the model has no prompt for this type, the
    result is "", which means no prompt, as in sentence-transformers'
    encode_query and encode_document.
    """
    name, role = values.get("prompt_name"), values.get("input_type")
    prompts = servable.description.get("prompts", {})
    if role is None and name in (None, *prompts):
        return name
    if name is not None:
        raise Refusal(
            f"prompt_name is {shown(name)}, but this model has the prompts "
            f"{', '.join(prompts) or '(none)'}; give one of them without "
            "input_type, or leave out prompt_name."
        )
    is_query = role in ("query", "search_query")
    return prompt_of_role(prompts, is_query=is_query)


def to_rows(texts: str | list[str]) -> np.ndarray:
    """Returns a text or a list of texts as an array of bytes, object [N]."""
    texts = [texts] if isinstance(texts, str) else texts
    return np.array([to_bytes(text) for text in texts], object)


def normalized(vectors: np.ndarray) -> np.ndarray:
    """Returns the vectors, scaled to the norm 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, 1e-12)


def check_whole(outputs: Columns) -> None:
    """Raises Refusal if the outputs show that a text was cut."""
    for row in np.flatnonzero(outputs.get("truncated", ())):
        raise Refusal(
            f"Text {row + 1} is longer than the model reads; split it, or "
            'send "truncate": true to cut off its end.',
            413,
        )

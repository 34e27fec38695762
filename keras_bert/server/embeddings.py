"""OpenAI's form of a request for embeddings, and of the answer.

One field is not OpenAI's: `prompt_name`, the prompt of the model that stands
before each text, such as "query". Without it, that is the model's default.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert.server.json_answers import decimals
from keras_bert.server.json_requests import read_bytes, shown
from keras_bert.server.refusal import Refusal
from keras_bert.server.versions import Version

_SIGNATURE = "serving_default"
_OUTPUT = "embedding"


def read_texts(
    values: Mapping[str, Any], version: Version
) -> tuple[str, dict[str, np.ndarray]]:
    """Returns the signature that answers with embeddings, and its input."""
    signature = version.servable.signatures.get(_SIGNATURE)
    if (
        signature is None
        or _OUTPUT not in signature.outputs
        or len(signature.inputs) != 1
    ):
        raise Refusal(
            400,
            f"This model has no embeddings: its signature {_SIGNATURE} has no "
            f"output {_OUTPUT}; ask a model that keras-bert export "
            "made of an encoder or of an embedding task.",
        )
    if values.get("encoding_format") not in (None, "float", "base64"):
        raise Refusal(
            400,
            f"encoding_format is {shown(values['encoding_format'])}, but must "
            "be float or base64.",
        )
    texts = values.get("input")
    texts = [texts] if isinstance(texts, str) else texts
    if (
        not isinstance(texts, list)
        or not texts
        or not all(isinstance(text, str) for text in texts)
    ):
        raise Refusal(
            400,
            "input must be a string or a list of strings; ids of tokens are "
            "not read.",
        )
    (name,) = signature.inputs
    return _signature_of(values.get("prompt_name"), version), {
        name: np.array([read_bytes(text) for text in texts], object)
    }


def _signature_of(prompt_name, version):
    if prompt_name is None:
        return _SIGNATURE
    prompts = version.servable.description.get("prompts", {})
    if not isinstance(prompt_name, str) or prompt_name not in prompts:
        raise Refusal(
            400,
            f"prompt_name is {shown(prompt_name)}, but this model has the "
            f"prompts {', '.join(prompts) or '(none)'}.",
        )
    return f"embed_{prompt_name}"


def write_embeddings(
    values: Mapping[str, Any],
    version: Version,
    outputs: Mapping[str, np.ndarray],
) -> str:
    """Returns OpenAI's list of embeddings."""
    vectors = _shortened(
        outputs[_OUTPUT].astype(np.float32),
        values.get("dimensions"),
        version.servable.description.get("sizes", []),
    )
    if values.get("encoding_format") == "base64":
        written = [
            f'"{base64.b64encode(vector.astype("<f4").tobytes()).decode()}"'
            for vector in vectors
        ]
    else:
        written = [f"[{', '.join(decimals(vector))}]" for vector in vectors]
    data = [
        f'{{"object": "embedding", "index": {i}, "embedding": {vector}}}'
        for i, vector in enumerate(written)
    ]
    num_tokens = int(np.sum(outputs.get("num_tokens", 0)))
    usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
    return (
        f'{{"object": "list", "data": [{", ".join(data)}], '
        f'"model": {json.dumps(values["model"])}, '
        f'"usage": {json.dumps(usage)}}}'
    )


def _shortened(vectors, size, sizes):
    """Keeps the first numbers of vectors, and the vectors' length."""
    whole = vectors.shape[1]
    known = {*sizes, whole}
    # 128.0 and true are in {128, 1}, too.
    if size is not None and (type(size) is not int or size not in known):
        raise Refusal(
            400,
            f"dimensions is {shown(size)}, but must be one of the integers "
            f"{', '.join(map(str, sorted(known)))}, for which this model was "
            "trained.",
        )
    if size in (None, whole):
        return vectors
    kept = vectors[:, :size]
    lengths = np.linalg.norm(vectors, axis=1) / np.maximum(
        np.linalg.norm(kept, axis=1), 1e-12
    )
    return kept * lengths[:, None]

"""Texts -> their word pieces, in text-embeddings-inference's form."""

import json
from typing import Any

import numpy as np

from keras_bert.predict.function import Columns, Function, Spec
from keras_bert.server.contract import Call, Values
from keras_bert.server.contracts.vectors import prompt_of, to_rows
from keras_bert.server.json_values import to_bytes
from keras_bert.server.refusal import Refusal
from keras_bert.text.without_tensorflow import ListTokenizer

# Each character may be a piece, and a piece takes about 80 bytes of JSON.
_MAX_CHARS = 250_000


def pieces_function(tokenizer: ListTokenizer) -> Function:
    """Returns a function from `text` [B] to `pieces` [B], which are JSON."""

    def answer(columns: Columns) -> dict[str, np.ndarray]:
        texts = [text.decode() for text in columns["text"]]
        encode = tokenizer.library.encode_batch
        encodings = encode(texts, add_special_tokens=False)
        pieces = []
        for text, encoding in zip(texts, encodings, strict=True):
            spans = zip(encoding.ids, encoding.offsets, strict=True)
            part = [
                f'{{"id": {id_}, "text": {json.dumps(text[start:stop])}, '
                f'"special": false, "start": {start}, "stop": {stop}}}'
                for id_, (start, stop) in spans
            ]
            pieces.append(", ".join(part))
        return {"pieces": np.array(pieces, object)}

    strings = Spec(np.dtype(object), (None,))
    return Function.of_network(answer, {"text": strings}, {"pieces": strings})


def special_pieces(tokenizer: ListTokenizer) -> list[str]:
    """Returns the JSON of the special tokens before and after a text."""
    place = {"special": True, "start": None, "stop": None}
    return [
        json.dumps({"id": id_, "text": tokenizer.vocab[id_]} | place)
        for id_ in (tokenizer.cls_id, tokenizer.sep_id)
    ]


def read_tokenize(values: Values, servable: Any) -> Call:
    """Returns the call that finds the pieces of texts.

    Without `prompt_name` or `input_type`, the texts get no prompt.
    """
    if servable.pieces is None:
        raise Refusal(
            "This model has no vocabulary file, or the package tokenizers is "
            "not installed on the server."
        )
    prompts = servable.description.get("prompts", {})
    prompt = prompts.get(prompt_of(values, servable), "")
    rows = to_bytes(prompt) + to_rows(values["inputs"])
    num_chars = sum(len(row.decode()) for row in rows)
    if num_chars > _MAX_CHARS:
        raise Refusal(
            f"The texts have {num_chars} characters with their prompts, but "
            f"/tokenize takes {_MAX_CHARS} at a time; send fewer.",
            413,
        )
    first, last = servable.special_pieces

    def write(outputs: Columns) -> str:
        texts = outputs["pieces"].tolist()
        if values.get("add_special_tokens") is not False:
            texts = [", ".join(filter(None, (first, x, last))) for x in texts]
        return f"[{', '.join(f'[{x}]' for x in texts)}]"

    return Call("tokenize", servable.pieces, {"text": rows}, write)

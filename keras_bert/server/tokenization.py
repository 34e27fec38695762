"""Texts -> their word pieces, in text-embeddings-inference's form."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from keras_bert.server.batching import Answered, Columns, Rows, num_rows
from keras_bert.server.json_requests import Call, to_bytes
from keras_bert.server.refusal import Refusal
from keras_bert.server.vector_requests import prompt_of, to_rows
from keras_bert.text.without_tensorflow import ListTokenizer


class Tokenization:
    """Answers `text` with `pieces`, in JSON; called as a `Signature` is.

    Attributes:
        ends: The JSON of the special tokens before and after a text.

    Args:
        tokenizer: The tokenizer of the model.
    """

    def __init__(self, tokenizer: ListTokenizer):
        self._library = tokenizer.library
        self.ends = [
            _piece(i, tokenizer.vocab[i], None, None, special=True)
            for i in (tokenizer.cls_id, tokenizer.sep_id)
        ]

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        """Answers rows in one call."""
        texts = [text.decode() for text in columns["text"]]
        encoded = self._library.encode_batch(texts, add_special_tokens=False)
        pieces = []
        for text, found in zip(texts, encoded, strict=True):
            part = [
                _piece(i, text[start:end], start, end)
                for i, (start, end) in zip(
                    found.ids, found.offsets, strict=True
                )
            ]
            pieces.append(", ".join(part))
        return {"pieces": np.array(pieces, object)}

    def split(self, columns: Columns, max_rows: int) -> Iterator[Rows]:
        """Yields all rows: they are answered alone."""
        yield Rows(self, np.arange(num_rows(columns)), columns)

    def join(self, answered: list[Answered]) -> dict[str, np.ndarray]:
        """Returns the outputs of the only call."""
        return dict(answered[0].outputs)


def read_tokenize(values: Mapping[str, Any], servable: Any) -> Call:
    """Reads a request for the pieces of texts.

    The texts have no prompt if the request names none.
    """
    tokenization = servable.tokenization
    if tokenization is None:
        raise Refusal(
            "This model has no vocabulary beside it, or the server has not the "
            "package tokenizers."
        )
    prompts = {None: ""} | servable.description.get("prompts", {})
    prompt = to_bytes(prompts[prompt_of(values, servable)])
    first, last = tokenization.ends

    def write(outputs):
        texts = outputs["pieces"]
        if values.get("add_special_tokens") is not False:
            texts = [", ".join(filter(None, (first, x, last))) for x in texts]
        return f"[{', '.join(f'[{x}]' for x in texts)}]"

    rows = prompt + to_rows(values["inputs"])
    return Call("tokenize", tokenization, {"text": rows}, write)


def _piece(id_, text, start, stop, special=False):
    values = {"id": id_, "text": text, "special": special}
    return json.dumps(values | {"start": start, "stop": stop})

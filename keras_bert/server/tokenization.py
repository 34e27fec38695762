"""Texts -> their word pieces, in text-embeddings-inference's form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.server.batching import Answered, Columns, Rows, num_rows
from keras_bert.server.json_requests import Call
from keras_bert.server.json_values import to_bytes
from keras_bert.server.refusal import Refusal
from keras_bert.server.vector_requests import prompt_of, to_rows
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings


class Tokenization:
    """Answers `text` with `pieces`, in JSON; called as a `Signature` is.

    Attributes:
        ends: The JSON of the special tokens before and after a text.

    Args:
        assets: A folder with vocab.txt and tokenizer_config.json.
    """

    def __init__(self, assets: Path):
        self._tokenizer = BertTokenizer.from_settings(
            assets / "vocab.txt",
            TokenizerSettings.from_json(assets / "tokenizer_config.json"),
        )
        self.ends = [
            _piece(i, self._tokenizer.vocab[i], None, None, special=True)
            for i in (self._tokenizer.cls_id, self._tokenizer.sep_id)
        ]

    def __call__(self, columns: Columns) -> dict[str, np.ndarray]:
        """Answers rows in one call."""
        texts = columns["text"].tolist()
        found = self._tokenizer.tokenize_with_offsets(texts)
        rows = (found.ids, found.start_chars, found.end_chars)
        pieces = []
        for text, *row in zip(texts, *(x.to_list() for x in rows), strict=True):
            whole = text.decode()
            places = zip(*row, strict=True)
            part = [_piece(i, whole[j:k], j, k) for i, j, k in places]
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
        raise Refusal("This model has no vocabulary beside it.")
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

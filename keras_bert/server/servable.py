"""A model version's folder -> its functions, loaded and warmed up."""

import contextlib
from pathlib import Path

import numpy as np

from keras_bert.errors import InputError
from keras_bert.predict.function import Function
from keras_bert.predict.load_functions import load_functions
from keras_bert.predict.versions import read_description
from keras_bert.server.contracts import tokenization
from keras_bert.text.without_tensorflow import ListTokenizer

# The first call of a model takes seconds. This is the text of the first call;
# it fills most of a sequence.
_WARM_UP_TEXT = b"warm up " * 60


class Servable:
    """A model version in memory.

    Attributes:
        signatures: The `Function` of each signature, keyed by name.
        description: The content of `assets/model.json`; empty if there is none.
        pieces: A `Function` that finds the word pieces of texts; None if the
            tokenizer cannot be loaded without TensorFlow.
        special_pieces: The JSON of the special tokens before and after a text.
    """

    def __init__(self, folder: Path):
        """Loads a version, and calls once each signature that takes strings.

        Raises the engine's error if anything fails.
        """
        tokenizer = self.pieces = None
        # Folders from older releases do not name special tokens that differ
        # from BERT's.
        with contextlib.suppress(FileNotFoundError, InputError):
            tokenizer = ListTokenizer.from_folder(folder / "assets")
            self.special_pieces = tokenization.special_pieces(tokenizer)
            self.pieces = tokenization.pieces_function(tokenizer)
        self.signatures = load_functions(folder, tokenizer=tokenizer)
        self.description = read_description(folder)
        for function in self.signatures.values():
            _warm_up(function)


def _warm_up(function: Function) -> None:
    """Calls a function on a text, if the function takes only strings."""
    texts = {
        name: np.full([x or 1 for x in spec.shape], _WARM_UP_TEXT, object)
        for name, spec in function.inputs.items()
        if spec.dtype == object and spec.shape is not None
    }
    if texts.keys() == function.inputs.keys():
        # Some signatures cannot read every string.
        with contextlib.suppress(InputError):
            function.call(texts)

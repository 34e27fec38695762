"""A model version's folder -> its functions, which take and return arrays.

TensorFlow, LiteRT, ONNX Runtime or OpenVINO computes the functions.
"""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from keras_bert.errors import InputError
from keras_bert.io.checksums import check_is_undamaged
from keras_bert.predict.function import Function
from keras_bert.predict.versions import format_of

if TYPE_CHECKING:
    from keras_bert.text.without_tensorflow import ListTokenizer


def load_functions(
    folder: Path,
    signature: str | None = None,
    tokenizer: "ListTokenizer | None" = None,
) -> dict[str, Function]:
    """Returns the functions of a model version, keyed by signature name.

    A SavedModel has a function for every signature. A network in another format
    has functions for the signatures that take texts; if `signature` is given,
    only for this signature. If the model's kind is your own, import the file of
    the kind first. Without TensorFlow, the package `tokenizers` turns texts
    into ids; pass `tokenizer` if the folder's tokenizer is already loaded.

    Raises InputError if a package is missing, or if the folder is damaged.
    """
    check_is_undamaged(folder)
    has_tensorflow = importlib.util.find_spec("tensorflow")
    if format_of(folder) == "saved_model":
        if not has_tensorflow:
            raise InputError(
                f"{folder} is a SavedModel, which needs TensorFlow; run pip "
                "install tensorflow tensorflow-text, or export the model "
                "with --format=auto."
            )
        from keras_bert.predict.saved_model import load_saved_model

        return load_saved_model(folder)
    if has_tensorflow:
        from keras_bert.predict import network_in_tensorflow

        return network_in_tensorflow.load(folder, signature)
    from keras_bert.predict import network_without_tensorflow

    return network_without_tensorflow.load(folder, signature, tokenizer)

"""`tf_model.h5` of transformers' TensorFlow classes: arrays under its names.

transformers removed these classes in its release 5. The names returned are
the ones that its PyTorch classes give to the same weights.
"""

from __future__ import annotations

import contextlib
import functools
import re
from pathlib import Path

import h5py

from keras_bert.checkpoints.names import Arrays, StoredArray
from keras_bert.errors import InputError

# The path of a dataset is LAYER/MODEL_CLASS/MODULE/...:0. Layers of a model
# with a language-model head repeat the embeddings that they share.
_DATASET = re.compile(r"[^/]+/tf_[^/]+/(?P<module>.+)/(?P<weight>\w+):0")
_WEIGHTS = {
    "beta": "bias",
    "bias": "bias",
    "embeddings": "weight",
    "gamma": "weight",
    "kernel": "weight",
    "weight": "weight",
}


def read_h5(file: Path) -> Arrays:
    """Reads the weights that `save_pretrained` of a TensorFlow class wrote.

    Raises InputError if the file is damaged or another program wrote it.
    """
    stored: Arrays = {}
    with _opened(file) as opened:
        paths: list[str] = []
        opened.visit(paths.append)
        for path in paths:
            dataset = opened[path]
            if not isinstance(dataset, h5py.Dataset):
                continue
            found = _DATASET.fullmatch(path)
            if not found or found["weight"] not in _WEIGHTS:
                raise InputError(
                    f"{file} has {path!r}, which transformers does not write; "
                    "give a tf_model.h5 of transformers."
                )
            # A damaged shape can ask for any amount of memory.
            if (
                dataset.dtype.kind != "f"
                or dataset.nbytes > file.stat().st_size
            ):
                raise ValueError(f"{path!r} is not an array in the file")
            array = StoredArray(
                tuple(dataset.shape), functools.partial(_read, file, path)
            )
            if found["weight"] == "kernel":  # PyTorch stores [units, inputs]
                array = array.transposed
            name = _module(found["module"])
            stored.setdefault(f"{name}.{_WEIGHTS[found['weight']]}", array)
    return stored


def _module(path):
    """bert/encoder/layer_._0/output -> bert.encoder.layer.0.output."""
    path = re.sub(r"_\._(\d+)", r".\1", path)
    # `mlm___cls` and `nsp___cls` are both the module `cls`.
    return re.sub(r"^\w+___", "", path).replace("/", ".")


def _read(file, path):
    with _opened(file) as opened:
        return opened[path][()]


@contextlib.contextmanager
def _opened(file):
    try:
        with h5py.File(file, "r") as opened:
            yield opened
    except InputError:
        raise
    except Exception as error:  # h5py raises any kind of damage
        reason = " ".join(str(error).split())
        raise InputError(
            f"{file} is not a whole HDF5 file ({reason}); copy it again."
        ) from error

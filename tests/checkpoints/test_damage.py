"""Files that were cut, or in which bits flipped, are read or refused in words.

Only TensorFlow's files and zip archives have checksums of the weights. In the
other formats nobody can notice that a bit of a number flipped. What can be
noticed is damage to names, sizes and structure, and a file that is too short.
"""

import functools
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import write_vocab
from safetensors.numpy import save_file

from keras_bert.checkpoints.adapters import BaseModel
from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.load_tokenizer import tokenizer_values
from keras_bert.checkpoints.names import StoredArray
from keras_bert.checkpoints.read import read_file, read_pytorch
from keras_bert.checkpoints.tensorflow_files import write_tensorflow
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.text.vocab import load_vocab

TORCH = Path(__file__).parent / "torch_files"
WEIGHTS = {
    "bert/embeddings/word_embeddings": np.arange(310.0).reshape(31, 10),
    "bert/pooler/dense/bias": np.arange(10.0),
}
NUM_DAMAGES = 100


def _tensorflow(folder):
    arrays = {
        name: StoredArray(x.shape, functools.partial(np.float32, x))
        for name, x in WEIGHTS.items()
    }
    write_tensorflow(folder / "bert_model.ckpt", arrays)


def _safetensors(folder, name="model.safetensors"):
    arrays = {name.removeprefix("bert/"): x for name, x in WEIGHTS.items()}
    save_file(arrays, folder / name)


def _shards(folder):
    _safetensors(folder, "part.safetensors")
    values = {"weight_map": {"embeddings": "part.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(values))


def _h5(folder):
    with h5py.File(folder / "tf_model.h5", "w") as opened:
        for name, x in WEIGHTS.items():
            name = name.replace("word_embeddings", "word_embeddings/weight")
            opened[f"bert/tf_bert_model/{name}:0"] = np.float32(x)


def _adapters(folder):
    _safetensors(folder)
    values = BaseModel(str(folder), 32 * "0", 8.0)
    (folder / "adapters.json").write_text(values.to_json())


def _text_files(folder):
    _safetensors(folder)
    vocab = write_vocab(folder).read_text().split()
    model = {"type": "WordPiece", "vocab": {x: i for i, x in enumerate(vocab)}}
    (folder / "tokenizer.json").write_text(json.dumps({"model": model}))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    config = BertConfig(31, 12, 2, 3, 20).to_dict()
    (folder / "config.json").write_text(json.dumps(config))


def _torch(name, folder):
    (folder / name).write_bytes((TORCH / name).read_bytes())


def _read_weights(folder):
    return [array.read() for array in read_file(find_weights(folder)).values()]


def _read_torch(folder):
    (file,) = folder.iterdir()
    return [array.read() for array in read_pytorch(file).values()]


CASES = {
    "model.safetensors": (_safetensors, _read_weights),
    "model.safetensors.index.json": (_shards, _read_weights),
    "tf_model.h5": (_h5, _read_weights),
    "adapters.json": (
        _adapters,
        lambda x: BaseModel.beside(x / "model.safetensors"),
    ),
    "zip.bin": (functools.partial(_torch, "zip.bin"), _read_torch),
    "legacy.bin": (functools.partial(_torch, "legacy.bin"), _read_torch),
    "bert_model.ckpt.index": (_tensorflow, _read_weights),
    "bert_model.ckpt.data-00000-of-00001": (_tensorflow, _read_weights),
    "vocab.txt": (_text_files, lambda x: load_vocab(x / "vocab.txt")),
    "tokenizer.json": (_text_files, tokenizer_values),
    "tokenizer_config.json": (_text_files, tokenizer_values),
    "config.json": (_text_files, lambda x: Checkpoint.of(x).config),
}


def _damaged(data, random):
    """Cuts the end off, or flips one to three bits."""
    if random.random() < 0.5:
        return data[: random.integers(len(data))]
    damaged = bytearray(data)
    for place in random.integers(len(data), size=random.integers(1, 4)):
        damaged[place] ^= 1 << random.integers(8)
    return bytes(damaged)


@pytest.mark.parametrize("name", CASES)
def test_damage_is_named(tmp_path, name):
    write, read = CASES[name]
    if name.endswith(".bin"):
        pytest.importorskip("torch")
    write(tmp_path)
    read(tmp_path)
    file = tmp_path / name
    data = file.read_bytes()
    random = np.random.default_rng(7)
    refused = 0
    for number in range(NUM_DAMAGES):
        file.write_bytes(_damaged(data, random))
        try:
            read(tmp_path)
        except (InputError, FileNotFoundError) as error:
            assert "\n" not in str(error), number
            assert str(tmp_path) in str(error)
            refused += 1
    assert refused > NUM_DAMAGES / 3

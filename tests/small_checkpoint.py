"""A pre-trained checkpoint of a tiny network, in our own format."""

from collections.abc import Callable
from pathlib import Path

import keras
from conftest import randomize, write_vocab
from safetensors.numpy import save_file

from keras_bert.config import BertConfig
from keras_bert.models.encoder import build_encoder


def write_checkpoint(
    folder: Path,
    config: BertConfig,
    *,
    build: Callable[[BertConfig], keras.Model] = build_encoder,
    scale: float = 0.3,
) -> Path:
    """Writes a network with random weights, its config and vocabulary."""
    folder.mkdir()
    model = build(config)
    randomize(model, scale)
    weights = {w.path: w.numpy() for w in model.weights}
    save_file(weights, folder / "model.safetensors")
    (folder / "bert_config.json").write_text(config.to_json())
    write_vocab(folder)
    return folder

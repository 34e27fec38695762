"""A path -> weights and config, whoever made the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np
import safetensors
from safetensors import numpy as safetensors_numpy

from keras_bert.checkpoints.assign import assign_weights
from keras_bert.checkpoints.huggingface import from_huggingface, is_huggingface
from keras_bert.checkpoints.tf1 import read_tf1
from keras_bert.config import BertConfig

_WEIGHTS = "model.safetensors"
_SHARDS = "model.safetensors.index.json"


def load_checkpoint(model: keras.Model, path: str | Path) -> None:
    """Loads weights into a model of any head.

    Args:
        model: The encoder, the pre-training model or a fine-tuned one.
        path: An output_dir of `pretrain` or `finetune` (its last checkpoint
            is taken) or one of its checkpoints; a folder of Hugging Face with
            `model.safetensors`, in shards or not; a `.safetensors` file; or
            a released TF1 checkpoint, as folder or prefix
            (`bert_model.ckpt`).

    Raises:
        FileNotFoundError: Where there is no checkpoint.
        ValueError: Where a weight is missing, unused or of another shape;
            heads alone may be absent, and are then named in the log.
    """
    file = _find(Path(path))
    assign_weights(model, _read(file), str(file))


def checkpoint_folder(path: str | Path) -> Path:
    """The folder of the weights, where config and vocabulary lie too."""
    return _find(Path(path)).parent


def config_beside(folder: Path) -> BertConfig:
    """Reads `bert_config.json` or `config.json` of a checkpoint's folder."""
    theirs = folder / "config.json"
    ours = folder / "bert_config.json"
    return BertConfig.from_json(
        theirs if theirs.is_file() and not ours.is_file() else ours
    )


def _find(path):
    """The file with the weights; of a TF1 checkpoint, its prefix."""
    if path.is_file() and path.suffix == ".safetensors":
        return path
    if path.with_name(f"{path.name}.index").is_file():
        return path
    for name in (_WEIGHTS, _SHARDS):
        if (path / name).is_file():
            return path / name
    prefixes = sorted(path.glob("*.ckpt*.index"))
    if len(prefixes) == 1:
        return prefixes[0].with_suffix("")
    latest = max((path / "checkpoints").glob("step-*"), default=None)
    if latest is None:
        raise FileNotFoundError(
            f"No checkpoint at {path}; expected a folder with {_WEIGHTS} or "
            "one bert_model.ckpt, or the output_dir of run_pretraining.py or "
            "run_finetuning.py."
        )
    return latest / _WEIGHTS


def _read(file) -> dict[str, np.ndarray]:
    if not file.is_file():
        return read_tf1(file)
    files = [file]
    if file.name == _SHARDS:
        shards = json.loads(file.read_text(encoding="utf-8"))["weight_map"]
        files = [file.parent / name for name in sorted(set(shards.values()))]
    tensors = {}
    for part in files:
        try:
            tensors |= safetensors_numpy.load_file(part)
        except safetensors.SafetensorError as error:
            raise ValueError(
                f"{part} is not a whole safetensors file ({error}); copy or "
                "train it again."
            ) from error
    if is_huggingface(tensors):
        return from_huggingface(tensors, str(file))
    return tensors

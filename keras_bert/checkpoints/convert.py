"""A checkpoint of any format -> the same weights in another format."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.find import config_beside, find_weights
from keras_bert.checkpoints.google import to_google
from keras_bert.checkpoints.huggingface import to_huggingface
from keras_bert.checkpoints.huggingface_config import to_huggingface_config
from keras_bert.checkpoints.load import read_weights
from keras_bert.checkpoints.safetensors_files import write_safetensors
from keras_bert.checkpoints.tensorflow_files import write_tensorflow
from keras_bert.checkpoints.tokenizer_settings import (
    find_tokenizer_settings,
    settings_of_vocab,
)
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.files import atomic_path, is_whole
from keras_bert.kinds import known_heads
from keras_bert.storage.paths import to_path

FORMATS = ("google_tf1", "huggingface", "keras")


def convert_checkpoint(
    checkpoint: str | Path, output_dir: str | Path, to: str
) -> None:
    """Writes a checkpoint in another format, bit for bit.

    Example:
        >>> keras_bert.convert_checkpoint(
        ...     "pretrained", "converted", to="huggingface"
        ... )
        >>> keras_bert.BertConfig.from_json("converted/config.json")
        BertConfig(vocab_size=31, hidden_size=12, num_hidden_layers=2, ...

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        output_dir: A new folder; it appears when it is whole.
        to: "google_tf1" (bert_model.ckpt, bert_config.json, vocab.txt),
            "huggingface" (model.safetensors, config.json, vocab.txt,
            tokenizer_config.json) or "keras" (model.safetensors under the
            paths of our weights, bert_config.json, vocab.txt,
            tokenizer_config.json).

    Raises:
        FileNotFoundError: If the checkpoint or its config does not exist.
        InputError: If the format has no name for a weight.
    """
    if to not in FORMATS:
        raise InputError(
            f"There is no format {to!r}; choose one of {', '.join(FORMATS)}."
        )
    output_dir = to_path(output_dir)
    if is_whole(output_dir):
        raise InputError(f"{output_dir} exists already; give a new folder.")
    file = find_weights(checkpoint)
    config = config_beside(file.parent)
    arrays = read_weights(file)
    with atomic_path(output_dir) as folder:
        folder.mkdir()
        if to == "huggingface":
            _write_huggingface(
                folder, arrays, config, _labels(arrays, file.parent)
            )
        else:
            if to == "google_tf1":
                _warn_if_google_lacks(config)
                write_tensorflow(folder / "bert_model.ckpt", to_google(arrays))
            else:
                write_safetensors(folder / "model.safetensors", arrays)
            (folder / "bert_config.json").write_text(config.to_json())
        vocab_file = file.parent / "vocab.txt"
        if not vocab_file.is_file():
            logging.warning(
                "%s has no vocab.txt, so %s has none.", file.parent, output_dir
            )
            return
        (folder / "vocab.txt").write_bytes(vocab_file.read_bytes())
        if to != "google_tf1":
            settings = find_tokenizer_settings(checkpoint)
            if settings is None:
                settings = settings_of_vocab(
                    vocab_file.read_text(encoding="utf-8").split()
                )
            (folder / "tokenizer_config.json").write_text(
                settings.to_json(config.max_position_embeddings)
            )


def _write_huggingface(folder, arrays, config, labels):
    stored, architecture = to_huggingface(arrays)
    write_safetensors(folder / "model.safetensors", stored)
    values = to_huggingface_config(config, architecture, labels)
    text = json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def _labels(arrays, source_folder):
    """The names of a classifier's outputs; transformers derives its size."""
    task = source_folder / "task.json"
    if task.is_file():
        labels = json.loads(task.read_text(encoding="utf-8"))["labels"]
        if labels:
            return labels
    for head in known_heads():
        if head.huggingface == "classifier" and f"{head.path}/bias" in arrays:
            (num_labels,) = arrays[f"{head.path}/bias"].shape
            return [f"LABEL_{i}" for i in range(num_labels)]
    return []


def _warn_if_google_lacks(config):
    """Warns of values for which google-research/bert has no code."""
    for name, value in dataclasses.asdict(config).items():
        if name in ("directionality", "layer_norm_eps") and value != (
            getattr(BertConfig, name)
        ):
            logging.warning(
                "google-research/bert ignores %s=%s of the config, so its "
                "outputs will differ.",
                name,
                value,
            )
    if config.hidden_act == "gelu_erf":
        logging.warning(
            "google-research/bert has no erf form of gelu; it will refuse "
            "hidden_act 'gelu_erf'."
        )

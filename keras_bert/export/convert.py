"""A checkpoint of any format -> the same weights in another format."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.checkpoints.find import (
    config_beside,
    find_weights,
    vocab_beside,
)
from keras_bert.checkpoints.google import to_google
from keras_bert.checkpoints.heads import heads_of, known_heads
from keras_bert.checkpoints.huggingface import (
    to_huggingface,
    to_huggingface_config,
)
from keras_bert.checkpoints.load import read_weights
from keras_bert.checkpoints.load_tokenizer import (
    find_tokenizer_settings,
    settings_of_vocab,
)
from keras_bert.checkpoints.safetensors_files import write_safetensors
from keras_bert.checkpoints.sentence_transformers import write_dense_modules
from keras_bert.checkpoints.tensorflow_files import write_tensorflow
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import atomic_path, check_is_new
from keras_bert.kinds.embedding.embedding import Embedding
from keras_bert.kinds.embedding.sentence_transformers import module_files
from keras_bert.kinds.spec import settings_of
from keras_bert.text.vocab import load_vocab

FORMATS = ("google_tf1", "huggingface", "keras", "sentence_transformers")


def convert_checkpoint(
    checkpoint: str | Path,
    output_dir: str | Path,
    to: str,
    *,
    settings: Mapping[str, Any] | None = None,
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
            tokenizer_config.json), "keras" (model.safetensors under the paths
            of our weights, bert_config.json, vocab.txt,
            tokenizer_config.json) or "sentence_transformers" (as
            "huggingface", with the modules that turn a text into its vector;
            from a model of the kind `embedding` or a pre-trained one).
        settings: For sentence_transformers, settings of the kind `embedding`
            such as `pooling`; by default those of the model, or those of the
            kind if it is a pre-trained one.

    Raises:
        FileNotFoundError: If the checkpoint or its config does not exist.
        InputError: If the format has no name for a weight or a setting.
    """
    if to not in FORMATS:
        raise InputError(
            f"There is no format {to!r}; choose one of {', '.join(FORMATS)}."
        )
    is_embedder = to == "sentence_transformers"
    if settings and not is_embedder:
        raise InputError(
            f"{next(iter(settings))} is a setting of sentence_transformers, "
            f"not of {to}; leave it out."
        )
    output_dir = to_path(output_dir)
    check_is_new(output_dir)
    file = find_weights(checkpoint)
    config = config_beside(file.parent)
    arrays = read_weights(file)
    modules, dense = {}, {}
    if is_embedder:
        found = settings_of(file.parent, config, Embedding, settings or {})
        modules = module_files(found, config)
        dense = {p: a for p, a in arrays.items() if p.startswith("dense_")}
        arrays = _encoder_of(
            {p: a for p, a in arrays.items() if p not in dense}
        )
    with atomic_path(output_dir) as folder:
        folder.mkdir()
        for name, text in modules.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        write_dense_modules(folder, dense)
        if is_embedder or to == "huggingface":
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
        vocab_file = vocab_beside(file.parent)
        if vocab_file is None:
            logging.warning(
                "%s has no vocab.txt, so %s has none.", file.parent, output_dir
            )
            return
        if vocab_file.suffix == ".txt":
            (folder / "vocab.txt").write_bytes(vocab_file.read_bytes())
        else:
            pieces = "".join(f"{piece}\n" for piece in load_vocab(vocab_file))
            (folder / "vocab.txt").write_text(pieces, encoding="utf-8")
        if to != "google_tf1":
            tokenizer = find_tokenizer_settings(checkpoint)
            if tokenizer is None:
                tokenizer = settings_of_vocab(
                    (folder / "vocab.txt").read_text(encoding="utf-8").split()
                )
            (folder / "tokenizer_config.json").write_text(
                tokenizer.to_json(config.max_position_embeddings)
            )


def _write_huggingface(folder, arrays, config, labels):
    stored, architecture = to_huggingface(arrays)
    write_safetensors(folder / "model.safetensors", stored)
    values = to_huggingface_config(config, architecture, labels)
    text = json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def _encoder_of(arrays):
    """Leaves out all heads but the pooler, with a warning."""
    heads = heads_of(arrays) - {"pooler"}
    for head in sorted(heads):
        logging.warning(
            "sentence-transformers has no place for %s; it is left out.", head
        )
    return {p: a for p, a in arrays.items() if p.split("/")[0] not in heads}


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

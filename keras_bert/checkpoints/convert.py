"""A checkpoint of any format -> one of another, bit for bit."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.casing import is_lower_case
from keras_bert.checkpoints.find import config_beside, find_weights
from keras_bert.checkpoints.google import to_google
from keras_bert.checkpoints.huggingface import to_huggingface
from keras_bert.checkpoints.huggingface_config import to_huggingface_config
from keras_bert.checkpoints.load import read_weights
from keras_bert.checkpoints.safetensors_files import write_safetensors
from keras_bert.checkpoints.tensorflow_files import write_tensorflow
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.files import atomic_path

FORMATS = ("google_tf1", "huggingface", "keras")


def convert_checkpoint(
    checkpoint: str | Path, output_dir: str | Path, to: str
) -> None:
    """Writes a checkpoint in another format; its weights stay as they are.

    Args:
        checkpoint: Whatever `load_checkpoint` takes, with its config and
            vocabulary beside it.
        output_dir: A new folder; it appears when it is whole.
        to: "google_tf1" (bert_model.ckpt, bert_config.json, vocab.txt),
            "huggingface" (model.safetensors, config.json, vocab.txt,
            tokenizer_config.json) or "keras" (model.safetensors under the
            paths of our weights, bert_config.json, vocab.txt).

    Raises:
        FileNotFoundError: Where there is no checkpoint or no config.
        InputError: Where the format has no name for a weight.
    """
    if to not in FORMATS:
        raise InputError(
            f"There is no format {to!r}; choose one of {', '.join(FORMATS)}."
        )
    output_dir = Path(output_dir)
    if output_dir.exists():
        raise InputError(f"{output_dir} is there already; give a new folder.")
    file = find_weights(checkpoint)
    config = config_beside(file.parent)
    arrays = read_weights(file)
    with atomic_path(output_dir) as folder:
        folder.mkdir()
        if to == "huggingface":
            _write_huggingface(folder, arrays, config, file.parent, checkpoint)
        else:
            if to == "google_tf1":
                _warn_of_what_google_lacks(config)
                write_tensorflow(folder / "bert_model.ckpt", to_google(arrays))
            else:
                write_safetensors(folder / "model.safetensors", arrays)
            (folder / "bert_config.json").write_text(config.to_json())
        if (file.parent / "vocab.txt").is_file():
            shutil.copyfile(file.parent / "vocab.txt", folder / "vocab.txt")
        else:
            logging.warning(
                "%s has no vocab.txt, so %s has none.", file.parent, output_dir
            )


def _write_huggingface(folder, arrays, config, source_folder, checkpoint):
    stored, architecture = to_huggingface(arrays)
    write_safetensors(folder / "model.safetensors", stored)
    values = to_huggingface_config(
        config, architecture, _labels(arrays, source_folder)
    )
    _write_json(folder / "config.json", values)
    if (source_folder / "vocab.txt").is_file():
        _write_json(
            folder / "tokenizer_config.json",
            {
                "do_lower_case": _is_lower_case(checkpoint, source_folder),
                "model_max_length": config.max_position_embeddings,
                "tokenizer_class": "BertTokenizer",
            },
        )


def _write_json(file, values):
    text = json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")


def _labels(arrays, source_folder):
    """Names of a classifier's outputs; transformers counts them by these."""
    task = source_folder / "task.json"
    if task.is_file():
        labels = json.loads(task.read_text(encoding="utf-8"))["labels"]
        if labels:
            return labels
    for head in ("classifier", "regressor", "token_classifier"):
        if f"{head}/bias" in arrays:
            (num_labels,) = arrays[f"{head}/bias"].shape
            return [f"LABEL_{i}" for i in range(num_labels)]
    return []


def _is_lower_case(checkpoint, source_folder):
    lower_case = is_lower_case(checkpoint)
    if lower_case is not None:
        return lower_case
    # A vocabulary of lower-cased text has capitals in [CLS] and the like only.
    pieces = (source_folder / "vocab.txt").read_text(encoding="utf-8").split()
    return all(p == p.lower() for p in pieces if not p.startswith("["))


def _warn_of_what_google_lacks(config):
    """google-research/bert reads these keys, but has no code for them."""
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

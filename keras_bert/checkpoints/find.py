"""A path, folder or hf:// address -> the file with the weights."""

from __future__ import annotations

import re
from pathlib import Path

from keras_bert.checkpoints.hub import SCHEME, download
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.files import whole_folder

# The first of these that exists is read.
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
# pathlib makes "gs:/bucket" of "gs://bucket". A drive has one letter.
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:/")


def find_weights(checkpoint: str | Path) -> Path:
    """Returns the file with the weights, or the prefix of TensorFlow's files.

    Raises FileNotFoundError if there is no checkpoint.
    """
    if str(checkpoint).startswith(SCHEME):
        checkpoint = download(str(checkpoint))
    _check_is_local(checkpoint)
    path = Path(checkpoint)
    if path.is_file() and path.suffix in (".safetensors", ".bin"):
        return path
    if Path(f"{path}.index").is_file():
        return path
    if path.name:
        path = whole_folder(path)
    for folder in (path, whole_folder(path / "best")):
        for name in _WEIGHTS:
            if (folder / name).is_file():
                return folder / name
    prefixes = sorted(path.glob("*ckpt*.index"))
    if len(prefixes) == 1:
        return prefixes[0].with_suffix("")
    steps = sorted((path / "checkpoints").glob("step-" + 8 * "[0-9]"))
    if steps:
        return steps[-1] / _WEIGHTS[0]
    if prefixes:
        raise FileNotFoundError(
            f"{path} holds {len(prefixes)} checkpoints; give the prefix of "
            f"one, such as {prefixes[-1].with_suffix('')}."
        )
    raise FileNotFoundError(
        f"No checkpoint at {path}; expected a folder with "
        f"{_WEIGHTS[0]}, {_WEIGHTS[2]} or one bert_model.ckpt, the "
        "output_dir of run_pretraining.py or run_finetuning.py, or "
        f"{SCHEME}owner/name."
    )


def checkpoint_folder(checkpoint: str | Path) -> Path:
    """Returns the folder of the weights, their config and vocabulary."""
    return find_weights(checkpoint).parent


def check_output_dir(output_dir: str | Path) -> None:
    """Raises InputError if a run cannot write to `output_dir`.

    The folder must be local. Weights directly in it would hide those of the
    run, because `find_weights` reads them first.
    """
    _check_is_local(output_dir)
    folder = Path(output_dir)
    names = [name for name in _WEIGHTS if (folder / name).is_file()]
    names += [path.name for path in folder.glob("*ckpt*.index")]
    if names:
        raise InputError(
            f"The output_dir {folder} holds {names[0]}, which would be "
            "mistaken for the result of the run; give another folder."
        )


def _check_is_local(path):
    if _SCHEME.match(str(path)):
        raise InputError(
            f"{path} is not on this machine; give a local folder, or read "
            f"from the Hugging Face Hub with {SCHEME}owner/name."
        )


def config_beside(folder: Path) -> BertConfig:
    """Reads `bert_config.json`, or else `config.json`, of a checkpoint."""
    ours, huggingface = folder / "bert_config.json", folder / "config.json"
    if huggingface.is_file() and not ours.is_file():
        return BertConfig.from_json(huggingface)
    return BertConfig.from_json(ours)


def config_and_vocab(
    checkpoint: str | Path | None,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
) -> tuple[BertConfig, str | Path]:
    """Returns the given config and vocabulary, or else the checkpoint's."""
    folder = checkpoint_folder(checkpoint) if checkpoint else None
    if bert_config is None:
        if folder is None:
            raise InputError("Give a bert_config or an init_checkpoint.")
        bert_config = config_beside(folder)
    if vocab_file is None:
        vocab_file = folder and folder / "vocab.txt"
        if vocab_file is None or not vocab_file.is_file():
            raise FileNotFoundError(
                "No vocab.txt beside the checkpoint; give its vocab_file."
            )
    return bert_config, vocab_file

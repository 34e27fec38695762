"""A path, folder or hf:// address -> the file with the weights."""

from __future__ import annotations

from pathlib import Path

from keras_bert.checkpoints.hub import SCHEME, download
from keras_bert.config import BertConfig
from keras_bert.errors import InputError

# In this order: the first that is there is taken.
_WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def find_weights(checkpoint: str | Path) -> Path:
    """Returns the file with the weights; of TensorFlow, the files' prefix.

    Raises FileNotFoundError where there is no checkpoint.
    """
    if str(checkpoint).startswith(SCHEME):
        return find_weights(download(str(checkpoint)))
    path = Path(checkpoint)
    if path.is_file() and path.suffix in (".safetensors", ".bin"):
        return path
    if Path(f"{path}.index").is_file():
        return path
    for folder in (path, path / "best"):
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
    """The folder of the weights, where config and vocabulary lie too."""
    return find_weights(checkpoint).parent


def check_output_dir(output_dir: str | Path) -> None:
    """Raises InputError where a run would not be found in `output_dir`.

    Weights that lie in it are taken before those of the run.
    """
    folder = Path(output_dir)
    names = [name for name in _WEIGHTS if (folder / name).is_file()]
    names += [path.name for path in folder.glob("*ckpt*.index")]
    if names:
        raise InputError(
            f"The output_dir {folder} holds {names[0]}, which would be taken "
            "for what comes out of the run; give another folder."
        )


def config_beside(folder: Path) -> BertConfig:
    """Reads `bert_config.json` or `config.json` of a checkpoint's folder."""
    theirs = folder / "config.json"
    ours = folder / "bert_config.json"
    return BertConfig.from_json(
        theirs if theirs.is_file() and not ours.is_file() else ours
    )


def config_and_vocab(
    checkpoint: str | Path | None,
    bert_config: BertConfig | None,
    vocab_file: str | Path | None,
) -> tuple[BertConfig, str | Path]:
    """Config and vocabulary: as given, or else those beside the weights."""
    folder = checkpoint_folder(checkpoint) if checkpoint else None
    if bert_config is None:
        if folder is None:
            raise InputError(
                "Without an init_checkpoint, a bert_config must be given."
            )
        bert_config = config_beside(folder)
    if vocab_file is None:
        vocab_file = folder and folder / "vocab.txt"
        if vocab_file is None or not vocab_file.is_file():
            raise FileNotFoundError(
                "No vocab.txt beside the checkpoint; give its vocab_file."
            )
    return bert_config, vocab_file

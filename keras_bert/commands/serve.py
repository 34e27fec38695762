"""Serves models over HTTP, with the APIs of TensorFlow Serving and others.

    keras-bert serve --model=hf://sentence-transformers/all-MiniLM-L6-v2
    keras-bert serve --model=output_dir_of_finetune --port=8501
    keras-bert serve --model_dir=served

A model is named after its folder. Several models are separated by commas:

    ... --model_dir=served/sst2,served/ner --model_name=films,names

The environment variable KERAS_BERT_API_KEY, or a file (--api_key_file), has the
key that clients must send; without a key, the server answers everybody. You can
also set a flag with the environment variable that --help names beside the
flag; the command line overrides the variable.

Args:
    model: A checkpoint: the --output_dir of keras-bert finetune, a Hub folder
        such as hf://owner/name, or a pre-trained model. The server first
        exports the checkpoint to --cache_dir. The export takes less than a
        minute.
    model_dir: The --export_dir of keras-bert export.
    model_name: A name for each model: first for the models of --model, then for
        those of --model_dir; by default, the name of the model's folder.
    version_labels: The labels of versions, such as stable=1,canary=2; for
        several models, films/stable=1,names/stable=3.
    api_key_file: A file with the key that clients must send.
    cache_dir: The folder to which the models of --model are exported. If this
        folder already has an export of a model, the server uses that export.
"""

import os
import sys
from pathlib import Path

import keras_bert
from keras_bert.commands.flags import Flags
from keras_bert.io.input_files import open_text
from keras_bert.server.json_logs import log, write_logs_as_json

NEEDS = {"cache_dir": "model"}


def define(flags: Flags) -> None:
    # Hides TensorFlow's warnings, which can contain users' texts.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    flags.add_variables("KERAS_BERT_", os.environ)


def run(
    config: keras_bert.server.ServerConfig,
    model: list | None = None,
    model_dir: list | None = None,
    model_name: list | None = None,
    version_labels: list | None = None,
    api_key_file: str = "",
    cache_dir: str = "~/.cache/keras_bert",
) -> None:
    models = [*(model or []), *(model_dir or [])]
    if not models:
        raise keras_bert.InputError(
            "Give --model or --model_dir; --model=mini_en is the small English "
            "model in this package. See keras-bert serve --help."
        )
    names = model_name or list(map(_name, models))
    if len(names) != len(models) or len(set(names)) != len(names):
        raise keras_bert.InputError(
            f"The models {', '.join(models)} have the names "
            f"{', '.join(names)}; give each a different name with "
            "--model_name."
        )
    labels = _labels_by_model(version_labels or [], names)
    key = _api_key(api_key_file)
    serve = keras_bert.serve  # imports what the server needs
    write_logs_as_json()
    folders = []
    for checkpoint in model or []:
        log("preparing", model=checkpoint, cache_dir=cache_dir)
        folder = keras_bert.finetuning.export_to_cache(checkpoint, cache_dir)
        folders.append(folder)
    num_cut_off = serve(
        dict(zip(names, [*folders, *(model_dir or [])], strict=True)),
        config,
        version_labels=labels,
        api_key=key,
    )
    if num_cut_off:
        sys.exit(
            f"Error: {num_cut_off} requests were not answered before the end; "
            "see --shutdown_seconds."
        )


def _labels_by_model(
    version_labels: list[str], names: list[str]
) -> dict[str, dict[str, int]]:
    labels: dict[str, dict[str, int]] = {}
    for label in version_labels:
        place, _, number = label.partition("=")
        name, _, label_name = place.rpartition("/")
        name = name or (names[0] if len(names) == 1 else "")
        if not (name and label_name and number.isdecimal()):
            raise keras_bert.InputError(
                f"{label!r} is not a version label; write stable=1, or "
                f"{names[0]}/stable=1 if there are several models."
            )
        given = labels.setdefault(name, {}).setdefault(label_name, int(number))
        if given != int(number):
            raise keras_bert.InputError(
                f"The label {label_name} is given for the versions {given} and "
                f"{number}; give it once."
            )
    return labels


def _api_key(file: str) -> str | None:
    key = os.environ.get("KERAS_BERT_API_KEY")
    if file:
        with open_text(file, errors="strict") as lines:
            key = lines.read()
    if key is None:
        return None
    key = key.strip()  # clients cannot send a blank at the end of a key
    if len(key.splitlines()) != 1:
        raise keras_bert.InputError(
            f"The API key has {len(key.splitlines())} lines, but must have "
            "exactly one."
        )
    return key


def _name(model: str) -> str:
    """Returns the last part of a path or hf:// name, without @revision."""
    name = Path(model).resolve().name
    return name.partition("@")[0] if model.startswith("hf://") else name

"""Serves exported models over HTTP, as TensorFlow Serving does.

    keras-bert serve --model_dir=served --port=8501

A model is named after its folder. Several models are separated by commas:

    ... --model_dir=served/sst2,served/ner --model_name=films,names

The environment variable KERAS_BERT_API_KEY, or a file (--api_key_file), holds
the key that clients must send; without one, anybody may ask.

Args:
    model_dir: The --export_dir of keras-bert export.
    model_name: A name for each model; default: the folder's.
    version_labels: Labels of versions, such as stable=1,canary=2; of several
        models films/stable=1,names/stable=3.
    api_key_file: A file that holds the key of clients.
"""

import os
import sys
from pathlib import Path

import keras_bert


def define(flags):
    # The warnings of TensorFlow hold the texts of users.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def run(
    model_dir: list,
    config: keras_bert.server.ServerConfig,
    model_name: list | None = None,
    version_labels: list | None = None,
    api_key_file: str = "",
):
    names = model_name or [Path(folder).resolve().name for folder in model_dir]
    if len(names) != len(model_dir) or len(set(names)) != len(names):
        raise keras_bert.InputError(
            f"The folders {', '.join(model_dir)} need a name each, but the "
            f"names are {', '.join(names)}; see --model_name."
        )
    labels: dict[str, dict[str, int]] = {}
    for label in version_labels or []:
        place, _, number = label.partition("=")
        name, _, label_name = place.rpartition("/")
        if not label_name or not number.isdecimal():
            raise keras_bert.InputError(
                f"{label!r} is not a label of a version, such as stable=1."
            )
        labels.setdefault(name or names[0], {})[label_name] = int(number)
    key = os.environ.get("KERAS_BERT_API_KEY")
    if api_key_file:
        key = Path(api_key_file).read_text(encoding="utf-8").strip()
    if key == "":
        raise keras_bert.InputError("The API key is empty.")
    num_cut_off = keras_bert.serve(
        dict(zip(names, model_dir, strict=True)),
        config,
        version_labels=labels,
        api_key=key,
    )
    if num_cut_off:
        sys.exit(
            f"Error: {num_cut_off} requests were not answered before the end; "
            "see --shutdown_seconds."
        )

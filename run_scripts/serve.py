"""Serves exported models over HTTP, as TensorFlow Serving does.

python run_scripts/serve.py --model_dir=served --port=8501

The model's name is that of its folder. Several models are separated by commas:

... --model_dir=served/sst2,served/ner --model_name=films,names

The environment variable KERAS_BERT_API_KEY, or a file (--api_key_file), holds
the key that clients must send; without one, anybody may ask.
"""

import os
from pathlib import Path

import config_flags
from absl import flags

import keras_bert

MODEL_DIR = flags.DEFINE_list(
    "model_dir", None, "The --export_dir of run_scripts/export_model.py."
)
MODEL_NAME = flags.DEFINE_list(
    "model_name", None, "A name for each model; default: the folder's."
)
VERSION_LABELS = flags.DEFINE_list(
    "version_labels",
    [],
    "Labels of versions, such as stable=1,canary=2; of several models "
    "films/stable=1,names/stable=3.",
)
API_KEY_FILE = flags.DEFINE_string(
    "api_key_file", None, "A file that holds the key of clients."
)
read_config = config_flags.define(keras_bert.ServerConfig)


def main():
    names = MODEL_NAME.value or [
        Path(folder).resolve().name for folder in MODEL_DIR.value
    ]
    if len(names) != len(MODEL_DIR.value) or len(set(names)) != len(names):
        raise keras_bert.InputError(
            f"The folders {', '.join(MODEL_DIR.value)} need a name each, but "
            f"the names are {', '.join(names)}; see --model_name."
        )
    labels = {}
    for label in VERSION_LABELS.value:
        place, _, number = label.partition("=")
        name, _, label_name = place.rpartition("/")
        if not label_name or not number.isdecimal():
            raise keras_bert.InputError(
                f"{label!r} is not a label of a version, such as stable=1."
            )
        labels.setdefault(name or names[0], {})[label_name] = int(number)
    key = os.environ.get("KERAS_BERT_API_KEY")
    if API_KEY_FILE.value:
        key = Path(API_KEY_FILE.value).read_text(encoding="utf-8").strip()
    if key == "":
        raise keras_bert.InputError("The API key is empty.")
    keras_bert.serve(
        dict(zip(names, MODEL_DIR.value, strict=True)),
        read_config(),
        version_labels=labels,
        api_key=key,
    )


if __name__ == "__main__":
    # Its warnings hold the texts of users.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    config_flags.run(main, required=[MODEL_DIR])

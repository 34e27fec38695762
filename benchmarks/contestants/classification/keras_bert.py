"""An exported model that takes raw strings, asked through `ServedModel`."""

import os

# The commands set these variables too.
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

import json

from contestant import Prepared

import keras_bert

PACKAGES = ("keras-bert-tf", "tensorflow", "tensorflow-text")


def prepare(options):
    model = keras_bert.ServedModel(options["model_dir"])
    with open(options["rows"], encoding="utf-8") as file:
        texts = [json.loads(line)["texts"][0] for line in file]

    def run(case):
        size = case["batch_size"]
        return [
            answer["scores"]["1"]
            for i in range(0, len(texts), size)
            for answer in model.answer(
                [{"sentence": text} for text in texts[i : i + size]]
            )
        ]

    return Prepared(run, check=lambda scores: scores)

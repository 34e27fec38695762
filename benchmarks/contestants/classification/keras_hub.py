"""keras-hub's BertTextClassifier.predict, with keras-hub's preprocessor.

keras-hub pads all texts to one length. Here, this length is the 128 tokens at
which the other contestants truncate; keras-hub's default is 512.
"""

import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import json
from pathlib import Path

import keras_hub
from contestant import Prepared
from safetensors.numpy import load_file

PACKAGES = ("keras-hub", "keras", "tensorflow")


def prepare(options):
    folder = Path(options["model"])
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
        keras_hub.models.BertTokenizer(
            str(folder / "vocab.txt"), lowercase=True
        ),
        sequence_length=128,
    )
    model = keras_hub.models.BertTextClassifier(
        keras_hub.models.BertBackbone.from_preset(str(folder)),
        num_classes=2,
        preprocessor=preprocessor,
        activation="softmax",
    )
    # `from_preset` does not read the head of Hugging Face's format.
    arrays = load_file(folder / "model.safetensors")
    model.output_dense.kernel.assign(arrays["classifier.weight"].T)
    model.output_dense.bias.assign(arrays["classifier.bias"])
    with open(options["rows"], encoding="utf-8") as file:
        texts = [json.loads(line)["texts"][0] for line in file]

    def run(case):
        scores = model.predict(texts, batch_size=case["batch_size"], verbose=0)
        return scores[:, 1].tolist()

    return Prepared(run, check=lambda scores: scores)

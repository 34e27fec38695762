"""Writes a network with random weights in Hugging Face's format.

    python random_checkpoint.py MODEL FOLDER

MODEL is a name such as bert_base_uncased. The pieces of the vocabulary mean
nothing.
"""

import sys
import tempfile
from pathlib import Path

import keras
from safetensors.numpy import save_file

import keras_bert

_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def main(model, folder):
    config = keras_bert.BertConfig.from_name(model)
    keras.utils.set_random_seed(1)
    encoder = keras_bert.models.build_encoder(config)
    pieces = [f"piece{i}" for i in range(config.vocab_size - len(_SPECIAL))]
    with tempfile.TemporaryDirectory() as source:
        source = Path(source)
        save_file(
            {weight.path: weight.numpy() for weight in encoder.weights},
            source / "model.safetensors",
        )
        (source / "bert_config.json").write_text(config.to_json())
        (source / "vocab.txt").write_text("\n".join([*_SPECIAL, *pieces, ""]))
        keras_bert.convert_checkpoint(source, folder, "huggingface")


if __name__ == "__main__":
    main(*sys.argv[1:])

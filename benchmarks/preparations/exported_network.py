"""Exports a checkpoint in every format that keras_bert has.

    python exported_network.py CHECKPOINT FOLDER

Writes SavedModels as FOLDER/float32 and FOLDER/bfloat16; float32 and int8
networks as .tflite and .onnx files; and OpenVINO networks of all three
precisions as .xml files. OpenVINO's int8 has ranges from random pairs.
"""

import sys
from pathlib import Path

import keras
import numpy as np

import keras_bert
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.export.network import (
    write_litert,
    write_onnx,
    write_openvino,
)


def main(checkpoint, folder):
    folder = Path(folder)
    folder.mkdir()
    for precision in ("float32", "bfloat16"):
        keras.config.set_dtype_policy(precision)
        version = keras_bert.export.export_pretrained(
            checkpoint, folder / "made"
        )
        version.rename(folder / precision)
    (folder / "made").rmdir()
    keras.config.set_dtype_policy("float32")
    config, _ = load_config_and_tokenizer(checkpoint)
    encoder = keras_bert.models.build_encoder(config)
    keras_bert.load_checkpoint(encoder, checkpoint)
    for precision in ("float32", "int8"):
        write_litert(encoder, precision, folder / f"{precision}.tflite")
        write_onnx(encoder, precision, folder / f"{precision}.onnx")
    ids = np.random.default_rng(1).integers(1, config.vocab_size, [9, 8, 128])
    # Without second segments here, the hidden states of pairs would be outside
    # the ranges of int8.
    second = np.arange(128, dtype="int32") // 64
    batches = [
        {"input_ids": x, "input_mask": x**0, "segment_ids": 0 * x + second}
        for x in ids.astype("int32")
    ]
    for precision in ("float32", "bfloat16", "int8"):
        file = folder / f"{precision}.xml"
        write_openvino(encoder, precision, file, batches)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Exports a checkpoint in every format that keras_bert has.

    python exported_network.py CHECKPOINT FOLDER

Writes FOLDER/float32 and FOLDER/bfloat16, SavedModels; float32 and int8 as
.tflite and .onnx files; and float32 and bfloat16 as .xml files of OpenVINO.
"""

import sys
from pathlib import Path

import keras

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
    for precision in ("float32", "bfloat16"):
        write_openvino(encoder, precision, folder / f"{precision}.xml")


if __name__ == "__main__":
    main(*sys.argv[1:])

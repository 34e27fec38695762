"""Exports a checkpoint in every format that keras_bert has.

    python exported_network.py CHECKPOINT FOLDER

Writes FOLDER/float32 and FOLDER/bfloat16, SavedModels.
"""

import sys
from pathlib import Path

import keras_bert
from keras_bert.training.distribution import precision


def main(checkpoint, folder):
    folder = Path(folder)
    folder.mkdir()
    for name in ("float32", "bfloat16"):
        with precision(name):
            version = keras_bert.export_pretrained(checkpoint, folder / "made")
        version.rename(folder / name)
    (folder / "made").rmdir()


if __name__ == "__main__":
    main(*sys.argv[1:])

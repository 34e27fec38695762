r"""Removes layers from a checkpoint, as a start for a smaller network.

    keras-bert keep-layers --checkpoint=pretrained --layers=0,2,5 \
        --output_dir=shallow

Args:
    checkpoint: The checkpoint: a folder, a file, a TensorFlow prefix or
        hf://owner/name.
    output_dir: The new folder.
    layers: The 0-based indices of the layers to keep, separated by commas.
"""

import keras_bert
from keras_bert.commands.flags import Flags


def run(flags: Flags, checkpoint: str, output_dir: str, layers: list) -> None:
    keras_bert.checkpoints.keep_layers(
        checkpoint, output_dir, flags.whole_numbers("layers")
    )
    print(f"Wrote {output_dir}")

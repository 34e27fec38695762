r"""Gives a checkpoint more positions, for longer texts.

    keras-bert extend-positions --output_dir=longer \
        --checkpoint=uncased_L-12_H-768_A-12 --max_position_embeddings=1024

Args:
    checkpoint: The checkpoint: a folder, a file, a TensorFlow prefix or
        hf://owner/name.
    output_dir: The new folder.
    max_position_embeddings: The new number of positions.
"""

import keras_bert


def run(checkpoint: str, output_dir: str, max_position_embeddings: int) -> None:
    keras_bert.checkpoints.extend_positions(
        checkpoint, output_dir, max_position_embeddings
    )
    print(f"Wrote {output_dir}")

r"""Gives a checkpoint more positions, for longer texts.

    python run_scripts/extend_positions.py --output_dir=longer \
        --checkpoint=uncased_L-12_H-768_A-12 --max_position_embeddings=1024
"""

import config_flags
from absl import flags

import keras_bert

INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "A folder, a file, a prefix or hf://owner/name."
)
OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The new folder.")
MAX_POSITION_EMBEDDINGS = flags.DEFINE_integer(
    "max_position_embeddings", None, "The new number of positions."
)


def main():
    keras_bert.checkpoints.extend_positions(
        INIT_CHECKPOINT.value, OUTPUT_DIR.value, MAX_POSITION_EMBEDDINGS.value
    )
    print(f"Wrote {OUTPUT_DIR.value}")


if __name__ == "__main__":
    config_flags.run(
        main, required=[INIT_CHECKPOINT, OUTPUT_DIR, MAX_POSITION_EMBEDDINGS]
    )

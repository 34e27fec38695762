r"""Removes from a checkpoint the word pieces that your texts do not use.

    python run_scripts/trim_vocab.py --output_dir=korean \
        --checkpoint=hf://google-bert/bert-base-multilingual-cased \
        --input_file='korean/*.txt.gz'
"""

import config_flags
from absl import flags

import keras_bert

INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "A folder, a file, a prefix or hf://owner/name."
)
OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The new folder.")
read_source = config_flags.define(keras_bert.pretraining.TextSource)
read_config = config_flags.define(keras_bert.checkpoints.TrimVocabConfig)


def main():
    figures = keras_bert.checkpoints.trim_vocab(
        INIT_CHECKPOINT.value,
        OUTPUT_DIR.value,
        read_source().lines(),
        config=read_config(),
    )
    for name, value in figures.items():
        print(f"{name} = {value}")


if __name__ == "__main__":
    config_flags.run(main, required=[INIT_CHECKPOINT, OUTPUT_DIR])

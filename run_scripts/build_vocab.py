r"""Learns a vocabulary of word pieces from text files.

    python run_scripts/build_vocab.py --input_file='corpus/*.txt.gz' \
        --output_file=vocab.txt --vocab_size=30522
"""

import config_flags
from absl import flags

import keras_bert

OUTPUT_FILE = flags.DEFINE_string("output_file", None, "The new vocab.txt.")
VOCAB_SIZE = flags.DEFINE_integer(
    "vocab_size", 30522, "The maximum number of word pieces."
)
DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case", True, "Whether to lower-case and strip accents."
)
read_source = config_flags.define(keras_bert.pretraining.TextSource)


def main():
    vocab = keras_bert.text.learn_vocab(
        read_source().lines(),
        OUTPUT_FILE.value,
        vocab_size=VOCAB_SIZE.value,
        do_lower_case=DO_LOWER_CASE.value,
    )
    print(f"Wrote {len(vocab)} word pieces to {OUTPUT_FILE.value}")


if __name__ == "__main__":
    config_flags.run(main, required=[OUTPUT_FILE])

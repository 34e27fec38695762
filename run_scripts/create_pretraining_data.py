"""Makes pre-training records of text: sentence pairs with masks.

The text has one sentence a line and a blank line between documents.

    python run_scripts/create_pretraining_data.py --input_file=corpus.txt.gz \
        --output_file=train.tfrecord --vocab_file=vocab.txt
"""

import config_flags
from absl import flags

import keras_bert

INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Text files, plain or .gz; comma-separated globs."
)
OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "TFRecord files, comma-separated, filled in turn."
)
VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "The vocab.txt.")
DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case", True, "Whether the vocabulary is uncased."
)
read_config = config_flags.define(keras_bert.PretrainingDataConfig)


def main():
    counts = keras_bert.create_pretraining_data(
        keras_bert.read_lines(keras_bert.expand_globs(INPUT_FILE.value)),
        OUTPUT_FILE.value.split(","),
        keras_bert.BertTokenizer(VOCAB_FILE.value, DO_LOWER_CASE.value),
        read_config(),
    )
    print(", ".join(f"{number} {name}" for name, number in counts.items()))


if __name__ == "__main__":
    flags.mark_flags_as_required([INPUT_FILE, OUTPUT_FILE, VOCAB_FILE])
    config_flags.run(main)

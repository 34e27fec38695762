r"""Writes pre-training records from text: sentence pairs with masked tokens.

The text has one sentence per line and a blank line between documents. With
--split_sentences it may be raw text. With a --runner, the workers of Apache
Beam make the same files.

    python run_scripts/create_pretraining_data.py --input_file=corpus.txt.gz \
        --output_file=a.tfrecord,b.tfrecord --vocab_file=vocab.txt
"""

import shlex

import config_flags
from absl import flags

import keras_bert

OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "TFRecord files, separated by commas; filled evenly."
)
INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint",
    None,
    "The checkpoint that will be trained; the tokenizer is its own.",
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "The vocab.txt; by default, that of checkpoint."
)
DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case",
    None,
    "Whether the vocabulary is uncased; by default as checkpoint says, or "
    "else as the vocabulary suggests: it is cased if a piece has a capital.",
)
NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 1, "The number of processes; it does not change the records."
)
RUNNER = flags.DEFINE_string("runner", None, "An Apache Beam runner.")
BEAM_OPTIONS = flags.DEFINE_string("beam_options", "", "Options of Beam.")
read_source = config_flags.define(keras_bert.pretraining.TextSource)
read_config = config_flags.define(keras_bert.PretrainingDataConfig)


def main():
    tokenizer = keras_bert.load_tokenizer(
        INIT_CHECKPOINT.value,
        vocab_file=VOCAB_FILE.value,
        do_lower_case=DO_LOWER_CASE.value,
    )
    if RUNNER.value:
        counts = keras_bert.pretraining.create_pretraining_data_with_beam(
            read_source(),
            OUTPUT_FILE.value.split(","),
            tokenizer,
            read_config(),
            pipeline_options=[f"--runner={RUNNER.value}"]
            + shlex.split(BEAM_OPTIONS.value),
        )
    else:
        counts = keras_bert.create_pretraining_data(
            read_source(),
            OUTPUT_FILE.value.split(","),
            tokenizer,
            read_config(),
            num_workers=NUM_WORKERS.value,
        )
    print(", ".join(f"{number} {name}" for name, number in counts.items()))


if __name__ == "__main__":
    config_flags.run(main, required=[OUTPUT_FILE])

r"""Adds the word pieces of your texts to a checkpoint.

It learns the pieces that save the most tokens, or takes a list of words.
Afterwards, go on with pre-training on these texts.

    python run_scripts/extend_vocab.py --output_dir=extended \
        --checkpoint=hf://google-bert/bert-base-cased \
        --input_file='reviews/*.txt.gz' --num_new_pieces=2000
    python run_scripts/extend_vocab.py --output_dir=extended \
        --checkpoint=uncased_L-12_H-768_A-12 --words_file=words.txt
"""

import config_flags
from absl import flags

import keras_bert

INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "A folder, a file, a prefix or hf://owner/name."
)
OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "The new folder.")
WORDS_FILE = flags.DEFINE_string(
    "words_file", None, "Words to add, one a line, instead of learning pieces."
)
EVAL_FILE = flags.DEFINE_string(
    "eval_file",
    None,
    "Text to count tokens in, of the same form as input_file; by default, a "
    "20th of the lines is held out for this.",
)
read_source = config_flags.define(keras_bert.pretraining.TextSource)
read_config = config_flags.define(keras_bert.checkpoints.ExtendVocabConfig)


def main():
    words, lines, eval_lines = (), (), ()
    if WORDS_FILE.value:
        words = keras_bert.pretraining.TextSource(WORDS_FILE.value).lines()
    if flags.FLAGS.input_file or flags.FLAGS.tfds_name or not words:
        lines = read_source().lines()
    if EVAL_FILE.value:
        eval_lines = keras_bert.pretraining.TextSource(
            EVAL_FILE.value,
            document_per_file=flags.FLAGS.document_per_file,
            text_field=flags.FLAGS.text_field,
        ).lines()
    figures = keras_bert.checkpoints.extend_vocab(
        INIT_CHECKPOINT.value,
        OUTPUT_DIR.value,
        lines,
        words=words,
        eval_lines=eval_lines,
        config=read_config(),
    )
    for name, value in figures.items():
        print(f"{name} = {round(value, 4)}")


if __name__ == "__main__":
    config_flags.run(main, required=[INIT_CHECKPOINT, OUTPUT_DIR])

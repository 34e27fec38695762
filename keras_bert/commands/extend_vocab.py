r"""Adds the word pieces of your texts to a checkpoint.

The command learns the pieces that most reduce the number of tokens in your
texts. With --words_file, it adds the words in a file instead. Afterwards,
continue pre-training on your texts.

    keras-bert extend-vocab --output_dir=extended \
        --checkpoint=hf://google-bert/bert-base-cased \
        --input_file='reviews/*.txt.gz' --num_new_pieces=2000
    keras-bert extend-vocab --output_dir=extended \
        --checkpoint=uncased_L-12_H-768_A-12 --words_file=words.txt

Args:
    checkpoint: The checkpoint: a folder, a file, a TensorFlow prefix or
        hf://owner/name.
    output_dir: The new folder.
    words_file: A file with words to add, one per line; the command then learns
        no pieces.
"""

from collections.abc import Iterable

import keras_bert
from keras_bert.commands.flags import Flags

NEEDS = dict.fromkeys(
    ("num_new_pieces", "document_per_file", "text_field"), "input_file"
)


def define(flags: Flags) -> None:
    # Not a parameter of `run`, because --words_file may replace the texts.
    flags.add_fields(keras_bert.pretraining.TextSource)


def run(
    flags: Flags,
    checkpoint: str,
    output_dir: str,
    config: keras_bert.checkpoints.ExtendVocabConfig,
    words_file: str = "",
) -> dict[str, float]:
    source = keras_bert.pretraining.TextSource
    words = source(words_file).lines() if words_file else ()
    lines: Iterable[str] = ()
    if flags.input_file or not words_file:
        lines = flags.config(source).lines()
    return keras_bert.checkpoints.extend_vocab(
        checkpoint, output_dir, lines, words=words, config=config
    )

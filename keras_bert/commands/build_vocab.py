r"""Learns a vocabulary of word pieces from text files.

    keras-bert build-vocab --input_file='corpus/*.txt.gz' \
        --output_file=vocab.txt --vocab_size=30522

Args:
    output_file: The new vocab.txt.
    vocab_size: The maximum number of word pieces.
    do_lower_case: Whether to lower-case the text and remove its accents.
"""

import keras_bert


def run(
    output_file: str,
    source: keras_bert.pretraining.TextSource,
    vocab_size: int = 30522,
    do_lower_case: bool = True,
) -> None:
    source.check_is_not(output_file)
    vocab = keras_bert.text.learn_vocab(
        source.lines(),
        output_file,
        vocab_size=vocab_size,
        do_lower_case=do_lower_case,
    )
    print(f"Wrote {len(vocab)} word pieces to {output_file}")

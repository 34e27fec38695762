r"""Writes pre-training records from text: sentence pairs with masked tokens.

The text has one sentence per line and a blank line between documents. With
--split_sentences, the text need not be split into sentences.

    keras-bert create-pretraining-data --input_file=corpus.txt.gz \
        --output_file=a.tfrecord,b.tfrecord --vocab_file=vocab.txt

Args:
    output_file: The TFRecord files, separated by commas; the records are
        divided evenly among them.
    checkpoint: The checkpoint that will be trained; its tokenizer is used.
    vocab_file: The vocab.txt; by default, the file beside the checkpoint.
    do_lower_case: Whether the vocabulary is uncased; by default, as the
        checkpoint says. If the checkpoint does not say, the vocabulary is
        uncased unless a piece has a capital letter.
    num_workers: The number of processes; it does not change the records.
"""

import keras_bert


def run(
    output_file: list,
    source: keras_bert.pretraining.TextSource,
    config: keras_bert.PretrainingDataConfig,
    checkpoint: str | None = None,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
    num_workers: int = 1,
) -> None:
    tokenizer = keras_bert.load_tokenizer(
        checkpoint, vocab_file=vocab_file, do_lower_case=do_lower_case
    )
    counts = keras_bert.create_pretraining_data(
        source, output_file, tokenizer, config, num_workers=num_workers
    )
    print(", ".join(f"{number} {name}" for name, number in counts.items()))

r"""Removes from a checkpoint the word pieces that your texts do not use.

    keras-bert trim-vocab --output_dir=korean \
        --checkpoint=hf://google-bert/bert-base-multilingual-cased \
        --input_file='korean/*.txt.gz'

Args:
    checkpoint: The checkpoint: a folder, a file, a TensorFlow prefix or
        hf://owner/name.
    output_dir: The new folder.
"""

import keras_bert


def run(
    checkpoint: str,
    output_dir: str,
    source: keras_bert.pretraining.TextSource,
    config: keras_bert.checkpoints.TrimVocabConfig,
) -> dict[str, float]:
    return keras_bert.checkpoints.trim_vocab(
        checkpoint, output_dir, source.lines(), config=config
    )

"""Makes mini_en_base from all-MiniLM-L6-v2.

    python examples/mini_en_base.py all-MiniLM-L6-v2 texts.txt work_dir

`examples/mini_en_texts.py` writes texts.txt. mini_en_base keeps the pieces that
are most frequent in these texts.
"""

import sys
from pathlib import Path

import keras_bert
from keras_bert.checkpoints import TrimVocabConfig

# The settings of all-MiniLM-L6-v2. Some copies of the model lack them.
SETTINGS = {"pooling": "mean", "normalize": True, "max_seq_length": 256}


def main() -> None:
    large, texts, work_dir = map(Path, sys.argv[1:])
    described, ours, trimmed, mini = (
        work_dir / name for name in ("described", "ours", "trimmed", "mini")
    )
    keras_bert.convert_checkpoint(
        large, described, to="sentence_transformers", settings=SETTINGS
    )
    keras_bert.convert_checkpoint(described, ours, to="keras")
    with open(texts, encoding="utf-8") as lines:
        keras_bert.checkpoints.trim_vocab(
            ours, trimmed, lines, config=TrimVocabConfig(vocab_size=29_000)
        )
    keras_bert.convert_checkpoint(trimmed, mini, to="int4")


if __name__ == "__main__":
    main()

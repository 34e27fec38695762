r"""Converts a checkpoint to another format; int8 and int4 round the weights.

    keras-bert convert --to=huggingface \
        --input=uncased_L-12_H-768_A-12 --output=bert-base-uncased

--to=sentence_transformers converts a model of the kind embedding, or a
pre-trained model. --pooling, --normalize, --max_seq_length and --prompts set
how a text becomes a vector. --prompts is JSON, such as '{"query": "query: "}'.

Args:
    input: The checkpoint: a folder, a file, a TensorFlow prefix or
        hf://owner/name.
    output: The new folder.
    to: The new format: google_tf1, huggingface (transformers), keras (this
        package), int8 (like keras, rounded to a quarter of the bytes), int4
        (like int8, with 4 bits for word embeddings and feed-forward networks)
        or sentence_transformers.
"""

import keras_bert
from keras_bert.commands.flags import Flags

_SETTINGS = "pooling normalize max_seq_length prompts default_prompt_name"


def define(flags: Flags) -> None:
    flags.add_settings([keras_bert.kinds.EmbeddingSettings], _SETTINGS.split())


def run(flags: Flags, input: str, output: str, to: str) -> None:
    keras_bert.convert_checkpoint(input, output, to, settings=flags.settings())
    print(f"Wrote {output}")

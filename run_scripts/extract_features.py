r"""Writes hidden states of a pre-trained model for each line of a file.

    python run_scripts/extract_features.py --checkpoint=pretrained \
        --input_file=texts.txt --output_file=features.jsonl

The output is JSON lines, as google-research/bert writes them, unless the name
of the output file ends with .npz or .tfrecord.
"""

import config_flags
from absl import flags

import keras_bert

INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "One text per line; 'A ||| B' is a pair of texts."
)
OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "JSON lines, unless it ends with .npz or .tfrecord."
)
INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "The pre-trained model."
)
BERT_CONFIG_FILE = flags.DEFINE_string(
    "bert_config_file", None, "By default, the file beside the checkpoint."
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "By default, the vocab.txt beside the checkpoint."
)
read_config = config_flags.define(keras_bert.vectors.ExtractionConfig)


def main():
    count = keras_bert.vectors.extract_features(
        INPUT_FILE.value,
        OUTPUT_FILE.value,
        INIT_CHECKPOINT.value,
        bert_config=BERT_CONFIG_FILE.value
        and keras_bert.BertConfig.from_json(BERT_CONFIG_FILE.value),
        vocab_file=VOCAB_FILE.value,
        config=read_config(),
    )
    print(f"Wrote the features of {count} lines to {OUTPUT_FILE.value}")


if __name__ == "__main__":
    config_flags.run(main, required=[INPUT_FILE, OUTPUT_FILE, INIT_CHECKPOINT])

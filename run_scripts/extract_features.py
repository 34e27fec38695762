"""Writes what layers of a pre-trained model say of texts.

    python run_scripts/extract_features.py --init_checkpoint=pretrained \
        --input_file=texts.txt --output_file=features.jsonl

The output is JSON lines in the form of google-research/bert or, where its
name ends so, .npz or .tfrecord.
"""

import config_flags
from absl import flags

import keras_bert

INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "A text a line, or a pair as 'A ||| B'."
)
OUTPUT_FILE = flags.DEFINE_string(
    "output_file", None, "Ends with .npz or .tfrecord; others are JSON lines."
)
INIT_CHECKPOINT = flags.DEFINE_string(
    "init_checkpoint", None, "The pre-trained model."
)
BERT_CONFIG_FILE = flags.DEFINE_string(
    "bert_config_file", None, "By default the one beside the checkpoint."
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "By default the vocab.txt beside the checkpoint."
)
read_config = config_flags.define(keras_bert.ExtractionConfig)


def main():
    count = keras_bert.extract_features(
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
    flags.mark_flags_as_required([INPUT_FILE, OUTPUT_FILE, INIT_CHECKPOINT])
    config_flags.run(main)

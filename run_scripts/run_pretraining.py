r"""Pre-trains BERT on records. Repeat the command to resume a stopped run.

    python run_scripts/run_pretraining.py --input_file='train*.tfrecord' \
        --eval_file=heldout.tfrecord --vocab_file=vocab.txt \
        --bert_config_file=configs/models/bert_tiny.json --output_dir=out
"""

import config_flags
from absl import flags

import keras_bert

INPUT_FILE = flags.DEFINE_string(
    "input_file",
    None,
    "TFRecords to train on: globs, separated by commas, perhaps with weights: "
    "a*:0.7,b*:0.3.",
)
EVAL_FILE = flags.DEFINE_string(
    "eval_file", None, "Held-out TFRecords: globs, separated by commas."
)
BERT_CONFIG_FILE = flags.DEFINE_string(
    "bert_config_file",
    None,
    "The network: a bert_config.json; by default, that of checkpoint.",
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file",
    None,
    "The vocab.txt, which is copied beside the weights; by default, that of "
    "checkpoint.",
)
INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "The initial weights; by default, random weights."
)
OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "The folder for checkpoints, logs and curves."
)
OVERWRITE_OUTPUT_DIR = flags.DEFINE_bool(
    "overwrite_output_dir",
    False,
    "Start over if output_dir has a run. Leave it out of a command that may "
    "be interrupted and repeated.",
)
read_config = config_flags.define(keras_bert.PretrainingConfig)


def main():
    figures = keras_bert.pretrain(
        BERT_CONFIG_FILE.value
        and keras_bert.BertConfig.from_json(BERT_CONFIG_FILE.value),
        INPUT_FILE.value,
        OUTPUT_DIR.value,
        eval_files=EVAL_FILE.value,
        checkpoint=INIT_CHECKPOINT.value,
        vocab_file=VOCAB_FILE.value,
        config=read_config(),
        overwrite_output_dir=OVERWRITE_OUTPUT_DIR.value,
    )
    for name, value in figures.items():
        print(f"{name} = {value:.6g}")


if __name__ == "__main__":
    config_flags.run(main, required=[INPUT_FILE, OUTPUT_DIR])

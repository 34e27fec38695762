"""Fine-tunes BERT on a task; the same command again resumes a run.

    python run_scripts/run_finetuning.py --task=glue/sst2 --data_dir=SST-2 \
        --init_checkpoint=pretrained --output_dir=out
"""

import config_flags
from absl import flags

import keras_bert

TASK = flags.DEFINE_string(
    "task", None, "Such as glue/sst2, or a Python file with TASKS of your own."
)
DATA_DIR = flags.DEFINE_string("data_dir", None, "The folder of its files.")
INIT_CHECKPOINT = flags.DEFINE_string(
    "init_checkpoint", None, "The pre-trained model; without, from scratch."
)
BERT_CONFIG_FILE = flags.DEFINE_string(
    "bert_config_file", None, "By default the one beside the checkpoint."
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "By default the vocab.txt beside the checkpoint."
)
DO_LOWER_CASE = flags.DEFINE_bool(
    "do_lower_case", True, "Whether the vocabulary is uncased."
)
OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Gets checkpoints, figures, predictions, pictures."
)
read_config = config_flags.define(keras_bert.FinetuningConfig)


def main():
    results = keras_bert.finetune(
        TASK.value,
        DATA_DIR.value,
        OUTPUT_DIR.value,
        init_checkpoint=INIT_CHECKPOINT.value,
        bert_config=BERT_CONFIG_FILE.value
        and keras_bert.BertConfig.from_json(BERT_CONFIG_FILE.value),
        vocab_file=VOCAB_FILE.value,
        do_lower_case=DO_LOWER_CASE.value,
        config=read_config(),
    )
    for name, value in results.items():
        print(f"{name} = {value:.6g}")


if __name__ == "__main__":
    flags.mark_flags_as_required([TASK, DATA_DIR, OUTPUT_DIR])
    config_flags.run(main)

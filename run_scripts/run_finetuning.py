"""Fine-tunes BERT on a task; the same command again resumes a run.

    python run_scripts/run_finetuning.py --task=glue/sst2 --data_dir=SST-2 \
        --init_checkpoint=pretrained --output_dir=out

With several rates, batch sizes or epochs, or with restarts, it runs them all
and keeps the best:

    ... --learning_rate=5e-5,3e-5,2e-5 --train_batch_size=16,32 \
        --num_train_epochs=2,3,4 --num_restarts=5
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
OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "Gets checkpoints, figures, predictions, reports."
)
NUM_RESTARTS = flags.DEFINE_integer(
    "num_restarts", 1, "Runs with each setting, each with another random_seed."
)
read_configs = config_flags.define_grid(
    keras_bert.FinetuningConfig,
    ("learning_rate", "train_batch_size", "num_train_epochs"),
)


def main():
    configs = read_configs()
    if len(configs) == NUM_RESTARTS.value == 1:
        run, what = keras_bert.finetune, {"config": configs[0]}
    else:
        run = keras_bert.search
        what = {"configs": configs, "num_restarts": NUM_RESTARTS.value}
    results = run(
        TASK.value,
        DATA_DIR.value,
        OUTPUT_DIR.value,
        init_checkpoint=INIT_CHECKPOINT.value,
        bert_config=BERT_CONFIG_FILE.value
        and keras_bert.BertConfig.from_json(BERT_CONFIG_FILE.value),
        vocab_file=VOCAB_FILE.value,
        **what,
    )
    for name, value in results.items():
        print(f"{name} = {value:.6g}")


if __name__ == "__main__":
    flags.mark_flags_as_required([TASK, DATA_DIR, OUTPUT_DIR])
    config_flags.run(main)

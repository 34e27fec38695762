r"""Fine-tunes BERT on a task. Repeat the command to resume a stopped run.

    python run_scripts/run_finetuning.py --task=glue/sst2 --data_dir=SST-2 \
        --checkpoint=pretrained --output_dir=out

Given several learning rates, batch sizes, numbers of epochs or restarts, it
runs every combination and keeps the best model:

    ... --learning_rate=5e-5,3e-5,2e-5 --train_batch_size=16,32 \
        --num_train_epochs=2,3,4 --num_restarts=5

Given a fine-tuned model, a smaller network learns from it:

    ... --teacher=large --bert_config_file=configs/models/bert_tiny.json

The settings of every kind of task, such as --max_seq_length, are flags too.
--task=my_task.py adds the settings of the kinds that my_task.py defines.
"""

import config_flags
from absl import flags
from quiet_tensorflow import import_tensorflow

import keras_bert

TASK = flags.DEFINE_string(
    "task", None, "A name such as glue/sst2, or a Python file with TASKS."
)
DATA_DIR = flags.DEFINE_string("data_dir", None, "The folder of the data.")
INIT_CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "The pre-trained model; default: random weights."
)
BERT_CONFIG_FILE = flags.DEFINE_string(
    "bert_config_file", None, "By default, the file beside the checkpoint."
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "By default, the vocab.txt beside the checkpoint."
)
OUTPUT_DIR = flags.DEFINE_string(
    "output_dir", None, "For checkpoints, metrics, predictions and reports."
)
CACHE_DIR = flags.DEFINE_string(
    "cache_dir",
    None,
    "A local folder for the encoded training set, which runs can share; by "
    "default, encoded in output_dir.",
)
TEACHER = flags.DEFINE_string(
    "teacher",
    None,
    "A fine-tuned model of the same task, from which the network learns too.",
)
OVERWRITE_OUTPUT_DIR = flags.DEFINE_bool(
    "overwrite_output_dir",
    False,
    "Start over if output_dir has a run. Leave it out of a command that may "
    "be interrupted and repeated.",
)
NUM_RESTARTS = flags.DEFINE_integer(
    "num_restarts", 1, "Runs per combination, each with its own random_seed."
)
read_configs = config_flags.define_grid(
    keras_bert.FinetuningConfig,
    ("learning_rate", "train_batch_size", "num_train_epochs"),
)


read_settings = None


def define_settings():
    """Defines the settings of all kinds of tasks, with those of the user."""
    global read_settings
    task = config_flags.peek("task")
    if task and ".py" in task:
        import_tensorflow()  # the file may define a kind
        keras_bert.get_task(task)
    read_settings = config_flags.define_settings(
        keras_bert.kinds.known_settings()
    )


def main():
    configs = read_configs()
    if len(configs) == NUM_RESTARTS.value == 1:
        run, what = keras_bert.finetune, {"config": configs[0]}
    else:
        run = keras_bert.search_hyperparameters
        what = {"configs": configs, "num_restarts": NUM_RESTARTS.value}
    results = run(
        TASK.value,
        DATA_DIR.value,
        OUTPUT_DIR.value,
        checkpoint=INIT_CHECKPOINT.value,
        bert_config=BERT_CONFIG_FILE.value
        and keras_bert.BertConfig.from_json(BERT_CONFIG_FILE.value),
        vocab_file=VOCAB_FILE.value,
        settings=read_settings(),
        cache_dir=CACHE_DIR.value,
        teacher=TEACHER.value,
        overwrite_output_dir=OVERWRITE_OUTPUT_DIR.value,
        **what,
    )
    for name, value in results.items():
        print(f"{name} = {value:.6g}")


if __name__ == "__main__":
    config_flags.run(
        main, define_settings, required=[TASK, DATA_DIR, OUTPUT_DIR]
    )

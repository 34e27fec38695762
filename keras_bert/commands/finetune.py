r"""Fine-tunes BERT on a task. Repeat the command to resume a stopped run.

    keras-bert finetune --task=glue/sst2 --data_dir=SST-2 \
        --checkpoint=pretrained --output_dir=out

A smaller network can learn from a fine-tuned model:

    ... --teacher=large --bert_config_file=bert_tiny

The settings of every kind of task, such as --max_seq_length, are flags too.
--task=my_task.py adds the settings of the kinds that my_task.py defines.

Args:
    task: A name such as glue/sst2, or a Python file that defines TASKS.
    data_dir: The folder of the data.
    output_dir: The folder for checkpoints, metrics, predictions and reports.
    checkpoint: The pre-trained model; without it, the initial weights are
        random.
    bert_config_file: The network: a bert_config.json, or a name such as
        bert_tiny; by default, the file beside the checkpoint.
    vocab_file: The vocab.txt; by default, the file beside the checkpoint.
    cache_dir: A local folder for the encoded training set, which several runs
        can share; by default, the folder `encoded` in output_dir.
    teacher: A fine-tuned model of the same task, from which the network also
        learns.
    new_head: Whether to train a new output layer on the encoder of a checkpoint
        that has an output layer for other labels.
    overwrite_output_dir: Whether to start over if output_dir already contains a
        run. With this flag, a command that is repeated after an interruption
        starts over too.
"""

import keras_bert
from keras_bert.commands import old_flags
from keras_bert.commands.flags import Flags, read_bert_config

translate = old_flags.translate_finetuning


def define(flags: Flags) -> None:
    task = flags.peek("task")
    if task and ".py" in task:  # the file may define a kind
        keras_bert.get_task(task)
    flags.add_settings(keras_bert.kinds.known_settings())
    flags.add_fields(old_flags.FinetuningFlags)


def run(
    flags: Flags,
    config: keras_bert.FinetuningConfig,
    task: str,
    data_dir: str,
    output_dir: str,
    checkpoint: str | None = None,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    cache_dir: str | None = None,
    teacher: str | None = None,
    new_head: bool = False,
    overwrite_output_dir: bool = False,
) -> dict[str, float]:
    return keras_bert.finetune(
        task,
        data_dir,
        output_dir,
        checkpoint=checkpoint,
        bert_config=read_bert_config(bert_config_file, vocab_file),
        vocab_file=vocab_file,
        config=config,
        settings=flags.settings(),
        cache_dir=cache_dir,
        teacher=teacher,
        new_head=new_head,
        overwrite_output_dir=overwrite_output_dir,
    )

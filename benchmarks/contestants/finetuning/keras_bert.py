"""An epoch as `keras_bert.finetune` runs it by default.

Each batch has examples of similar length. The steps of some batches of the
epoch are timed; reading and evaluation are not.
"""

import os

# The commands set these variables too.
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"

from pathlib import Path

import tensorflow as tf
from contestant import Prepared
from epoch_sample import sample_by_size

import keras_bert
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.finetuning.batches import training_batches
from keras_bert.kinds.spec import build_kind, make_spec
from keras_bert.training.optimizers.build import build_optimizer
from keras_bert.training.steps import Steps

PACKAGES = ("keras-bert-tf", "tensorflow", "keras")


def prepare(options):
    config = keras_bert.FinetuningConfig()
    task = keras_bert.get_task(options["task"])
    bert_config, tokenizer = load_config_and_tokenizer(options["checkpoint"])
    kind = build_kind(make_spec(task, {}), tokenizer, bert_config)
    rows = list(task.read(Path(options["data_dir"]), "train"))
    all_batches = list(
        training_batches(
            kind.encode(rows, labeled=True),
            batch_size=config.train_batch_size,
            num_epochs=1,
            seed=config.random_seed,
            by_length=kind.batches_by_length,
        )
    )
    num_batches = options["num_batches"]
    sizes = [tf.size(batch[0]["input_ids"]) for batch in all_batches]
    batches = [all_batches[i] for i in sample_by_size(sizes, num_batches)]
    network = kind.build_model(bert_config)
    keras_bert.load_checkpoint(network, options["checkpoint"])
    num_steps = round(len(all_batches) * config.num_train_epochs)
    steps = Steps(
        network,
        kind.training_objectives,
        build_optimizer(
            config, num_steps, int(num_steps * config.warmup_proportion)
        ),
        count_work=kind.work_counter(bert_config),
    )
    step = tf.function(steps.train_step, reduce_retracing=True)

    def run(case):
        steps.reset_metrics()
        for batch in batches:
            loss = step(batch)["loss"]
        return float(loss)

    return Prepared(run, scale=lambda case: len(all_batches) / num_batches)

r"""Measures the input pipeline of pre-training alone, without a model.

Prints a line for one worker that reads whole batches, and a line for each of
several workers that read only their share of each batch. The bytes are the
bytes that the process asked the system for. The last lines compare the reading
speed with the speed at which accelerators train.

    python benchmarks/input_pipeline.py --input_file='train*.tfrecord'

With --vocab_file, records without masks get new masks in every epoch.
"""

import time
from pathlib import Path

import psutil
import tensorflow as tf
from absl import app, flags

from keras_bert.config import BertConfig
from keras_bert.models.flops import count_work
from keras_bert.pretraining.read.files_to_records import (
    PretrainingRecords,
    find_files,
)
from keras_bert.pretraining.read.pairs_to_batches import pretraining_batches
from keras_bert.pretraining.read.records_to_pairs import InstanceDrawer
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.distribution import BatchShard, without_tuning

INPUT_FILE = flags.DEFINE_string("input_file", None, "Pre-training records.")
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "The vocabulary, for drawing new masks."
)
BATCH_SIZE = flags.DEFINE_integer(
    "train_batch_size", 256, "Records per batch, over all workers."
)
SEQ_LENGTH = flags.DEFINE_integer(
    "max_seq_length", 128, "The value in the records."
)
PREDICTIONS = flags.DEFINE_integer(
    "max_predictions_per_seq", 20, "The value in the records."
)
NUM_WORKERS = flags.DEFINE_integer(
    "num_workers", 4, "Workers that share each batch."
)
FIRST_STEPS = flags.DEFINE_list(
    "first_steps", ["0", "10000", "1000000"], "The steps at which runs start."
)
SECONDS = flags.DEFINE_integer(
    "seconds", 20, "Seconds for each line of the table."
)

# Model FLOPs per second for training BERT-base, at an assumed utilization.
ACCELERATORS = {
    "A100, 312 TFLOP/s in bf16, 50 %": 156e12,
    "v5e, 197 TFLOP/s in bf16, 50 %": 98.5e12,
}


def main(_):
    drawer = None
    if VOCAB_FILE.value:
        tokenizer = BertTokenizer(VOCAB_FILE.value)
        masker = MaskedLMMasker(
            tokenizer, max_predictions_per_seq=PREDICTIONS.value
        )
        drawer = InstanceDrawer(
            tokenizer, masker, max_seq_length=SEQ_LENGTH.value
        )
    begin = time.perf_counter()
    records = PretrainingRecords(
        find_files(INPUT_FILE.value),
        max_seq_length=SEQ_LENGTH.value,
        max_predictions_per_seq=PREDICTIONS.value,
        drawer=drawer,
    )
    print(f"opening the files: {time.perf_counter() - begin:.2f} s\n")

    print("| first step | seconds to the first batch |\n|---|---|")
    for step in map(int, FIRST_STEPS.value):
        begin = time.perf_counter()
        next(iter(_batches(records, BatchShard(0, 1), step)))
        print(f"| {step:,} | {time.perf_counter() - begin:.2f} |")

    print(
        "\n| reader | records/s | records/s per core | MB/s read "
        "| bytes read per record | RSS in MB, at each quarter of the time |\n"
        "|---|---|---|---|---|---|"
    )
    speed = _measure(records, BatchShard(0, 1), "one worker")
    for number in range(NUM_WORKERS.value):
        share = BatchShard(number, NUM_WORKERS.value)
        _measure(records, share, f"worker {number} of {NUM_WORKERS.value}")

    flops = count_work(
        {
            "input_mask": tf.ones([1, SEQ_LENGTH.value], tf.int32),
            "masked_lm_positions": tf.ones([1, PREDICTIONS.value], tf.int32),
        },
        config=BertConfig.from_name("bert_base_uncased"),
        num_labels=2,
    )["flops"]
    print("\n| accelerator | records/s that it needs | cores to read them |")
    print("|---|---|---|")
    for name, flops_per_second in ACCELERATORS.items():
        eaten = flops_per_second / float(flops)
        print(f"| {name} | {eaten:,.0f} | {eaten / speed:.2f} |")


def _batches(records, share, first_batch=0):
    features = records.batches(
        BATCH_SIZE.value, share, shuffle_seed=1, first_batch=first_batch
    )
    return without_tuning(
        pretraining_batches(
            features,
            vocab_size=2**31 - 1,
            outputs=("masked_lm", "next_sentence"),
            packed=False,
        )
    )


def _measure(records, share, name):
    """Prints a line; returns the number of records per second of a core."""
    process = psutil.Process()
    iterator = iter(_batches(records, share))
    next(iterator)
    memory = []
    cpu, read = _cpu_seconds(process), _bytes_read()
    begin, num_records = time.perf_counter(), 0
    while (seconds := time.perf_counter() - begin) < SECONDS.value:
        features, _, _ = next(iterator)
        num_records += len(features["input_ids"])
        if seconds >= len(memory) * SECONDS.value / 4:
            memory.append(process.memory_info().rss // 2**20)
    cpu, read = _cpu_seconds(process) - cpu, _bytes_read() - read
    print(
        f"| {name} | {num_records / seconds:,.0f} | {num_records / cpu:,.0f} "
        f"| {read / 1e6 / seconds:.1f} | {read / num_records:,.0f} "
        f"| {', '.join(map(str, memory))} |"
    )
    return num_records / cpu


def _cpu_seconds(process):
    return sum(process.cpu_times()[:2])


def _bytes_read():
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


if __name__ == "__main__":
    flags.mark_flag_as_required("input_file")
    app.run(main)

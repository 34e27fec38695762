"""Computes how long pre-training BERT-large would take on accelerators.

    python benchmarks/scale_plan.py

The run is the run in the BERT paper: a million steps of 256 sequences. The
script prints the table of docs/devices.md. Each number that is not computed has
a name in this file, with a comment that says where the number comes from.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.models.flops import count_work
from keras_bert.pretraining.config import PretrainingConfig

NUM_STEPS, BATCH_SIZE = 1_000_000, 256
SHORT, LONG = 128, 512  # tokens; in the paper, 90% of the steps have 128
NUM_WORDS = 3.3e9  # in Wikipedia and the books, from the paper
STATE = 4.03e9  # the weights and two moments, from the v5e compiler
GRADIENTS = STATE / 3
# Both are measured, per second: the bytes that a checkpoint (up to 0.7 GB)
# writes to a disk, and the records that s3fs reads from a store, with one
# request per record.
WRITTEN, REQUESTS = 0.2e9, 530
SAVED_STEPS = PretrainingConfig().save_checkpoints_steps


class Chip(NamedTuple):
    """A chip's published figures: FLOP/s in bfloat16, and bytes per second."""

    name: str
    flops: float
    bandwidth: float
    link: float  # in one direction


class Records(NamedTuple):
    """Figures of records with dynamic_masking, from input_pipeline.py."""

    size: float  # bytes that are read per record
    per_word: float
    per_core: float  # records that an AMD EPYC core reads and masks per second


V5E = Chip("v5e", 197e12, 819e9, 200e9)
H100 = Chip("H100", 989e12, 3350e9, 450e9)
# The number of chips, the chip, and the share of its peak that matrix products
# reach with short and with long sequences.
MACHINES = (
    (8, V5E, {SHORT: 0.3, LONG: 0.3}),  # assumed
    (8, V5E, {SHORT: 0.5, LONG: 0.5}),  # assumed
    (64, V5E, {SHORT: 0.3, LONG: 0.3}),  # assumed
    (64, V5E, {SHORT: 0.5, LONG: 0.5}),  # assumed
    # Measured on one H200, whose products have the same peak, with the update.
    (8, H100, {SHORT: 0.37, LONG: 0.25}),
)
RECORDS = {
    SHORT: Records(649, 59_138 / 5_503_332, 67_000),
    LONG: Records(1831, 17_458 / 5_503_332, 30_000),
}
HEAD = (
    "machine, share of the peak FLOP/s, steps/s, time for update and sum, "
    "records/s, MB/s, CPU cores to read from a disk, from a store, time for "
    "checkpoints, hours with 512 tokens only, hours as in the paper"
).split(", ")


def main():
    flops = {tokens: flops_of(tokens) for tokens in RECORDS}
    for tokens, records in RECORDS.items():
        number = records.per_word * NUM_WORDS
        print(
            f"{tokens} tokens: {flops[tokens] / 1e12:.2f} TFLOP a sequence, "
            f"{number * records.size / 1e9:.0f} GB in all, "
            f"and {number * 16 / 1e9:.2f} GB of index"
        )
    rows = [cells_of(*machine, flops) for machine in MACHINES]
    for row in (HEAD, ["---"] * len(HEAD), *rows):
        print(f"| {' | '.join(row)} |")


def flops_of(tokens: int) -> float:
    """Returns the FLOPs of the model to train on a sequence without padding."""
    features = {
        "input_mask": tf.ones([1, tokens], tf.int32),
        "masked_lm_positions": tf.ones([1, round(0.15 * tokens)], tf.int32),
    }
    config = BertConfig.from_name("bert_large_uncased")
    return float(count_work(features, config=config, num_labels=2)["flops"])


def cells_of(
    num_chips: int, chip: Chip, used: dict[int, float], flops: dict[int, float]
) -> list[str]:
    # Reads gradients, weights and moments, and writes the last two.
    update = 7 * GRADIENTS / chip.bandwidth
    # The chips sum the gradients around a ring, when all gradients are ready.
    update += 2 * (1 - 1 / num_chips) * GRADIENTS / chip.link
    hours, figures = {}, {}
    for tokens, records in RECORDS.items():
        reached = num_chips * chip.flops * used[tokens]
        seconds = update + BATCH_SIZE * flops[tokens] / reached
        speed = BATCH_SIZE / seconds
        hours[tokens] = NUM_STEPS * seconds / 3600
        figures[tokens] = [
            f"{used[tokens]:.0%}",
            f"{1 / seconds:.1f}",
            f"{update / seconds:.0%}",
            f"{speed:,.0f}",
            f"{speed * records.size / 1e6:.1f}",
            f"{speed / records.per_core:.2f}",
            f"{speed / REQUESTS:.1f}",
            f"{STATE / WRITTEN / (SAVED_STEPS * seconds):.0%}",
        ]
    cells = [" / ".join(pair) for pair in zip(*figures.values(), strict=True)]
    mixed = 0.9 * hours[SHORT] + 0.1 * hours[LONG]
    cells += [f"{hours[LONG]:.0f}", f"{mixed:.0f}"]
    return [f"{num_chips} {chip.name}", *cells]


if __name__ == "__main__":
    main()

r"""Compiles a pre-training step on JAX for four TPUs, without a TPU.

    python benchmarks/tpu_mesh.py --models=bert_tiny

Each chip has all weights and a quarter of the batch, and their gradients are
summed over the chips. See `tpu_compile.py` for the Python and the table.
"""

import os
import sys
import time
from pathlib import Path

import jax
import numpy as np
from absl import app, flags
from comparison.environments import ROOT
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tpu import compiler

os.environ["KERAS_BACKEND"] = "jax"  # the contestants import Keras
sys.path.insert(0, str(Path(__file__).parent / "contestants"))

from accelerator.jax_adam import no_moments
from accelerator.training.keras_bert import compiled_step, network_of
from accelerator.variants import Variants
from random_batches import random_pretraining_batch
from works.accelerator import pretraining_case

_MODELS = flags.DEFINE_multi_enum(
    "models",
    ["bert_tiny"],
    sorted(file.stem for file in (ROOT / "configs" / "models").glob("*.json")),
    "For each, a row for each chip.",
)
_CHIPS = flags.DEFINE_multi_enum(
    "chips", ["v5e"], sorted(compiler.CHIPS), "For each, a row."
)
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 128, "Of the four chips.")
flags.register_validator(
    "batch_size", lambda size: size > 0 and size % 4 == 0, "A multiple of 4."
)
_SEQ_LENGTH = flags.DEFINE_integer("seq_length", 128, "Tokens of a sequence.")


def main(_):
    compiler.find_compiler()
    head = ("model", "chips", "batch", "tokens", *compiler.HEAD, "compiled in")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for model in _MODELS.value:
        for name in _CHIPS.value:
            print(_table_row(model, name), flush=True)


def _table_row(model: str, name: str) -> str:
    chip = compiler.CHIPS[name]
    begin = time.perf_counter()
    devices = compiler.abstract_devices(chip)
    compiled = _lower(model, devices).compile()
    # The gradients' sum; without it, each chip would train alone.
    assert "all-reduce" in compiled.as_text()
    figures = compiler.figures_of(compiled.runtime_executable())
    seconds = time.perf_counter() - begin
    # The figures are those of one chip, with its part of the batch.
    cells = figures.cells(chip, _BATCH_SIZE.value // len(devices))
    sizes = [str(_BATCH_SIZE.value), str(_SEQ_LENGTH.value)]
    line = [model, f"4 x {name}", *sizes, *cells, f"{seconds:.0f} s"]
    return f"| {' | '.join(line)} |"


def _lower(model: str, devices: list):
    mesh = Mesh(np.array(devices), ("batch",))
    on_all = NamedSharding(mesh, PartitionSpec())
    divided = NamedSharding(mesh, PartitionSpec("batch"))
    case = pretraining_case(model, _SEQ_LENGTH.value, _BATCH_SIZE.value)
    network = network_of(case["config"], is_pretraining=True)
    weights = [v.value for v in network.trainable_variables]
    seeds = [v.value for v in network.non_trainable_variables]
    batch = random_pretraining_batch(
        _BATCH_SIZE.value,
        _SEQ_LENGTH.value,
        case["num_predictions"],
        case["config"]["vocab_size"],
    )

    def shapes(values, sharding):
        return jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding),
            values,
        )

    return compiled_step(network, Variants(())).lower(
        *shapes((weights, seeds, no_moments(weights)), on_all),
        shapes(batch, divided),
    )


if __name__ == "__main__":
    app.run(main)

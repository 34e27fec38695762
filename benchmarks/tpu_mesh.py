r"""Compiles a pre-training step on JAX for four TPUs, without a TPU.

    python benchmarks/tpu_mesh.py --models=bert_tiny

Each chip has all weights and a quarter of the batch, and the gradients are
summed over the chips. With --model_parallel, a `keras.distribution` layout map
gives each chip half of the batch and half of each split matrix.
`tpu_compile.py` explains the Python environment and the table.
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

import keras
from accelerator.training.keras_bert import compiled_step, network_of
from accelerator.variants import Variants
from random_batches import random_pretraining_batch
from works.accelerator import pretraining_case

_MODELS = flags.DEFINE_multi_enum(
    "models",
    ["bert_tiny"],
    sorted(file.stem for file in (ROOT / "configs" / "models").glob("*.json")),
    "The models; the table has a row for each model and chip.",
)
_CHIPS = flags.DEFINE_multi_enum(
    "chips", ["v5e"], sorted(compiler.CHIPS), "The kinds of chips."
)
_BATCH_SIZE = flags.DEFINE_integer(
    "batch_size", 128, "Sequences per step on all four chips; a multiple of 4."
)
flags.register_validator(
    "batch_size",
    lambda size: size > 0 and size % 4 == 0,
    "--batch_size must be a multiple of 4.",
)
_MODEL_PARALLEL = flags.DEFINE_boolean(
    "model_parallel", False, "Whether two chips share each matrix."
)
_SEQ_LENGTH = flags.DEFINE_integer("seq_length", 128, "Tokens per sequence.")


# The path of a variable -> its axes that are split over two chips: attention
# heads, feed-forward units or vocabulary pieces.
_LAYOUTS = {
    r"layer_\d+/attention/(query|key|value)/kernel": (None, "model"),
    r"layer_\d+/attention/(query|key|value)/bias": ("model",),
    r"layer_\d+/attention/output/kernel": ("model", None),
    r"layer_\d+/intermediate/kernel": (None, "model"),
    r"layer_\d+/intermediate/bias": ("model",),
    r"layer_\d+/output/kernel": ("model", None),
    "embeddings/word_embeddings": ("model", None),
}


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
    # It sums the gradients. Without the sum, each chip would train alone.
    assert "all-reduce" in compiled.as_text()
    figures = compiler.figures_of(compiled.runtime_executable())
    seconds = time.perf_counter() - begin
    # The figures are for one chip, with its part of the batch.
    cells = figures.cells(chip, _BATCH_SIZE.value // len(devices))
    sizes = [str(_BATCH_SIZE.value), str(_SEQ_LENGTH.value)]
    where = "2 x 2" if _MODEL_PARALLEL.value else "4"
    line = [model, f"{where} x {name}", *sizes, *cells, f"{seconds:.0f} s"]
    return f"| {' | '.join(line)} |"


def _lower(model: str, devices: list):
    shape = (2, 2) if _MODEL_PARALLEL.value else (4, 1)
    mesh = Mesh(np.array(devices).reshape(shape), ("batch", "model"))
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

    layouts = _layout_map(shape)
    places = [
        NamedSharding(mesh, PartitionSpec(*layout.axes)) if layout else on_all
        for layout in (layouts[v.path] for v in network.trainable_variables)
    ]
    weights = [*map(shapes, weights, places)]
    moments = [(x, x) for x in weights]
    return compiled_step(network, Variants(())).lower(
        weights, shapes(seeds, on_all), moments, shapes(batch, divided)
    )


def _layout_map(shape: tuple[int, int]) -> keras.distribution.LayoutMap:
    names = [f"tpu:{number}" for number in range(4)]
    mesh = keras.distribution.DeviceMesh(shape, ("batch", "model"), names)
    layouts = keras.distribution.LayoutMap(mesh)
    if _MODEL_PARALLEL.value:
        layouts.update(_LAYOUTS)
    return layouts


if __name__ == "__main__":
    app.run(main)

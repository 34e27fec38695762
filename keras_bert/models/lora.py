"""LoRA: low-rank updates to dense layers (Hu et al., arXiv 2106.09685)."""

import operator
from collections.abc import Iterator

import keras

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.layers.encoder_block import EncoderBlock

# The dense layers of an EncoderBlock, by the paths of their weights. Only a
# block with a gated feed-forward has a gate.
_DENSE_LAYERS = (
    "attention/query attention/key attention/value attention/output "
    "intermediate gate output"
).split()


def check_lora(config: BertConfig, rank: int, targets: str) -> None:
    """Raises InputError if an encoder cannot have adapters of this rank.

    Also raises InputError if `targets` name a layer that no block has.
    """
    _target_paths(targets, config.gated_feed_forward)
    smallest = min(config.hidden_size, config.intermediate_size)
    if rank > smallest:
        raise InputError(
            f"lora_rank is {rank}, but the smallest dimension of the encoder's "
            f"matrices is {smallest}; give a smaller rank, usually 4 to 16."
        )


def add_lora(model: keras.Model, rank: int, alpha: float, targets: str) -> None:
    """Adds alpha / rank * A @ B to the kernels of dense layers in each block.

    `targets` are the names of layers, separated by commas. A name is the end of
    a path in an `EncoderBlock`, such as "query", "attention/output", or
    "output" for both output layers. The matrices A [in, rank] and B [rank, out]
    are the weights `lora_kernel_a` and `lora_kernel_b` of a layer. B starts as
    zeros, so the outputs are at first the same as without adapters. The kernels
    are frozen.

    Raises InputError if the model has no encoder blocks, or if a block has no
    layer with one of the names.
    """
    blocks = list(_encoder_blocks(model))
    if not blocks:
        raise InputError(
            "The network of this task has no trainable encoder blocks, so it "
            "cannot have adapters; leave lora_rank out."
        )
    for block in blocks:
        for path in _target_paths(targets, block.gated):
            attribute = path.replace("/", ".").replace("output", "output_dense")
            layer = operator.attrgetter(attribute)(block)
            layer.enable_lora(rank, lora_alpha=alpha)


def _encoder_blocks(model: keras.Model) -> Iterator[EncoderBlock]:
    for layer in model.layers:
        if isinstance(layer, EncoderBlock):
            yield layer
        elif isinstance(layer, keras.Model):  # an encoder within a model
            yield from _encoder_blocks(layer)


def _target_paths(targets: str, gated: bool) -> list[str]:
    """Returns the paths of the dense layers that are named in `targets`."""
    paths: list[str] = []
    layers = [x for x in _DENSE_LAYERS if gated or x != "gate"]
    names = [x.strip() for x in targets.split(",") if x.strip()]
    for name in names or [targets]:
        named = [x for x in layers if f"/{x}".endswith(f"/{name}")]
        if not named:
            raise InputError(
                f"lora_targets has {name!r}, but the dense layers of an "
                f"encoder block are {', '.join(layers)}; give some of these."
            )
        paths += named
    return list(dict.fromkeys(paths))

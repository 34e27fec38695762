"""The TPU compiler, on a machine without a TPU.

The compiler is in the package libtpu, beside JAX; see `environments/tpu.txt`.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Chip:
    """A kind of chip, with the figures that its maker publishes.

    Attributes:
        topology: The compiler's name for four of these chips.
        memory: The memory of a chip, in bytes.
        flops: The FLOP/s of bfloat16 products.
        bandwidth: The bandwidth of the memory, in bytes per second.
    """

    topology: str
    memory: float
    flops: float
    bandwidth: float


CHIPS = {
    "v5e": Chip("v5e:2x2", 16e9, 197e12, 819e9),
    "v6e": Chip("v6e:2x2", 32e9, 918e12, 1640e9),
}


@dataclasses.dataclass(frozen=True)
class Compiled:
    """The compiler's figures about a program, for one chip.

    Attributes:
        arguments: The bytes of weights, moments and the batch.
        temporary: The bytes of activations and gradients, and of results that
            do not replace an argument.
        flops: The FLOPs of a step. The compiler counts a loop once.
        bytes_accessed: The bytes that a step reads and writes. The number is
            too large: a piece of an array that is moved into the fast memory on
            the chip counts as the whole array.
    """

    arguments: int
    temporary: int
    flops: float
    bytes_accessed: float

    def cells(self, chip: Chip, num_sequences: int) -> list[str]:
        """Returns the cells of a table, in the order of `HEAD`.

        `num_sequences` is the number of sequences per step on one chip.
        """
        memory = self.arguments + self.temporary
        seconds = self.flops / chip.flops, self.bytes_accessed / chip.bandwidth
        return [
            f"{self.arguments / 1e9:.2f} GB",
            f"{self.temporary / 1e9:.2f} GB",
            f"{memory / chip.memory:.0%}",
            *(f"{num_sequences / x:.0f}" for x in seconds),
        ]


# The speeds are computed from the chip's published figures, not measured. The
# last speed is too low, because `bytes_accessed` is too large.
HEAD = (
    "arguments",
    "temporary",
    "memory of the chip",
    "sequences/s, at most, by its products",
    "by what it reads and writes",
)


def find_compiler() -> None:
    """Sets the variables that libtpu reads; call it before JAX is used."""
    try:
        import libtpu
    except ImportError:
        sys.exit(
            "The compiler is not installed; install the packages of "
            "benchmarks/environments/tpu.txt."
        )

    os.environ |= {
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # for several processes
        "JAX_PLATFORMS": "cpu",
        "TPU_LIBRARY_PATH": str(Path(libtpu.__file__).parent / "libtpu.so"),
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_WORKER_HOSTNAMES": "localhost",
    }


def abstract_devices(chip: Chip) -> list[Any]:
    """Returns the four JAX devices for which a program is compiled."""
    from jax.experimental import topologies

    return topologies.get_topology_desc(chip.topology, "tpu").devices


def compile_tensorflow(
    step: Callable[..., Any], arguments: tuple[Any, ...], chip: Chip
) -> Compiled:
    """Compiles a TensorFlow function for one chip; returns its figures.

    Raises the compiler's error if a TPU cannot run the function, and
    TensorFlow's error if the function has unknown shapes or operations that XLA
    lacks.
    """
    import jax.extend.mlir
    import numpy as np
    import tensorflow as tf
    from jax._src.compiler import get_compile_options  # no public names
    from jax._src.interpreters.mlir import make_ir_context
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir
    from tensorflow.compiler.xla.service import hlo_pb2

    compiled = tf.function(step, jit_compile=True, autograph=False)
    text = compiled.experimental_get_compiler_ir(*arguments)(
        stage="hlo_serialized"
    )
    program = hlo_pb2.HloModuleProto.FromString(text)
    for computation in program.computations:
        for instruction in computation.instructions:
            if instruction.opcode == "copy":  # StableHLO has none
                instruction.opcode = "reshape"
    stable = jax.extend.mlir.hlo_to_stablehlo(program.SerializeToString())
    with make_ir_context():
        module = ir.Module.parse(stable)
    device, *_ = abstract_devices(chip)
    return figures_of(
        device.client.compile(
            module,
            executable_devices=xla_client.DeviceList((device,)),
            compile_options=get_compile_options(
                1, 1, device_assignment=np.array([[device.id]])
            ),
        )
    )


def figures_of(executable: Any) -> Compiled:
    """Returns the figures that the JAX runtime reports for a program."""
    sizes = executable.get_compiled_memory_stats()
    cost = executable.cost_analysis()
    return Compiled(
        arguments=sizes.argument_size_in_bytes,
        temporary=sizes.temp_size_in_bytes
        + sizes.output_size_in_bytes
        - sizes.alias_size_in_bytes,
        flops=cost["flops"],
        bytes_accessed=cost["bytes accessed"],
    )

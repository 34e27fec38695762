"""The largest product of bfloat16 matrices on JAX's device, in FLOP/s."""

import time

import jax
import jax.numpy as jnp
from contestant import Prepared

PACKAGES = ("jax",)
_LONG_ENOUGH = 0.01  # seconds; the time of a call itself is negligible
_LARGEST = 16_384
_PRODUCTS_PER_CALL = 4


def prepare(options):
    return Prepared(lambda case: _speed())


def _speed():
    """Returns the highest FLOP/s of products of square matrices.

    The matrices grow until a few products take a hundredth of a second.
    """
    best, size, seconds = 0.0, 256, 0.0
    while seconds < _LONG_ENOUGH and size <= _LARGEST:
        seconds = _seconds_of_products(size)
        best = max(best, _PRODUCTS_PER_CALL * 2 * size**3 / seconds)
        size *= 2
    return best


def _seconds_of_products(size):
    # Random: products of zeros need less power, and run faster. A variance of
    # 1 / size keeps the products from growing and vanishing.
    matrix = jax.random.normal(jax.random.key(1), (size, size)) * size**-0.5
    matrix = matrix.astype(jnp.bfloat16)
    times = []
    for _ in range(4):  # the first product compiles
        begin = time.perf_counter()
        _multiply(matrix).block_until_ready()
        times.append(time.perf_counter() - begin)
    return min(times)


@jax.jit
def _multiply(matrix):
    product = matrix
    for _ in range(_PRODUCTS_PER_CALL):
        product = product @ matrix
    return product[0, 0]

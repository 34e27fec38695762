"""The speed of the largest matrix product, to compare networks with."""

import time

import tensorflow as tf
from contestant import Prepared

PACKAGES = ("tensorflow",)

_LONG_ENOUGH = 0.01  # seconds; the time of a call itself is negligible
_LARGEST = 16_384
_PRODUCTS_PER_CALL = 4


def prepare(options):
    # The time of a run means nothing: the result is the speed, in FLOP/s.
    return Prepared(
        lambda case: _measure_matmul_speed(options["precision"], "/cpu:0")
    )


def _measure_matmul_speed(dtype: str, device: str) -> float:
    """Returns the FLOP/s of square matrix products on a device.

    The matrices grow until a few products take a hundredth of a second. The
    result is less than the maker promises, but within reach of a network.
    """
    best = 0.0
    size = 256
    while True:
        with tf.device(device):
            seconds = _seconds_of_products(size, dtype)
        flops = _PRODUCTS_PER_CALL * 2 * size**3
        best = max(best, flops / seconds)
        if seconds > _LONG_ENOUGH or size == _LARGEST:
            return best
        size *= 2


def _seconds_of_products(size, dtype):
    @tf.function
    def multiply(matrix):
        product = matrix
        for _ in range(_PRODUCTS_PER_CALL):
            product = tf.matmul(product, matrix)
        return product[0, 0]

    # Stateless, so that the random numbers of the run stay as they are. A
    # variance of 1 / size keeps the products from growing and vanishing.
    matrix = tf.random.stateless_normal([size, size], [1, 2]) * size**-0.5
    matrix = tf.cast(matrix, dtype)
    times = []
    for _ in range(4):  # the first product compiles
        begin = time.perf_counter()
        multiply(matrix).numpy()  # waits for the device
        times.append(time.perf_counter() - begin)
    return min(times)

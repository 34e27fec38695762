import numpy as np
import pytest
import tensorflow as tf

from keras_bert.training import matmul_speed
from keras_bert.training.matmul_speed import measure_matmul_speed


def test_the_products_get_larger_until_they_take_long_enough(monkeypatch):
    seconds = {256: 1e-3, 512: 4e-3, 1024: 2e-2}
    asked = []

    def seconds_of_products(size, dtype):
        asked.append((size, dtype))
        return seconds[size]

    monkeypatch.setattr(
        matmul_speed, "_seconds_of_products", seconds_of_products
    )
    # The fastest of them: four products of 2 * 1024^3 operations.
    assert measure_matmul_speed("float16", "CPU:0") == 4 * 2**31 / 2e-2
    assert asked == [(size, "float16") for size in seconds]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_it_does_not_change_the_random_numbers_of_the_run(dtype):
    def draw():
        tf.random.set_seed(3)
        if dtype:
            assert measure_matmul_speed(dtype, "CPU:0") > 1e6
        return tf.random.uniform([5]).numpy()

    drawn = draw()
    dtype = ""
    np.testing.assert_array_equal(drawn, draw())

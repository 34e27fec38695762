import numpy as np
import pytest
from keras import ops

from keras_bert.layers.pooling import cls_pooling, max_pooling, mean_pooling

B, S, H = 2, 7, 12


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("pooling", "pool"),
    [
        (cls_pooling, lambda row: row[0]),
        (mean_pooling, lambda row: row.mean(0)),
        (max_pooling, lambda row: row.max(0)),
    ],
)
def test_padding_is_left_out(pooling, pool, dtype):
    random = np.random.default_rng(1)
    x = random.normal(-5, 1, (B, S, H)).astype(dtype)  # below padding's 0
    input_mask = np.array([[1] * 7, [1] * 4 + [0] * 3], "int32")
    found = pooling(ops.convert_to_tensor(x), ops.convert_to_tensor(input_mask))
    assert found.dtype == dtype
    expected = [pool(row) for row in (x[0], x[1, :4])]
    tolerance = 1e-6 if dtype == "float32" else 2e-3
    np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_a_mean_over_many_tokens_in_bfloat16():
    x = ops.ones((1, 500, 3), "bfloat16")
    pooled = mean_pooling(x, ops.ones((1, 500), "int32"))
    np.testing.assert_array_equal(ops.cast(pooled, "float32"), np.ones((1, 3)))

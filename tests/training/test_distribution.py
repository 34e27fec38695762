import pytest

from keras_bert.training.distribution import get_strategy


def test_a_tpu_that_is_not_there_is_named():
    with pytest.raises(
        ValueError, match="There is no TPU at 'local'; .* TensorFlow says: \\S"
    ):
        get_strategy("tpu", "local")

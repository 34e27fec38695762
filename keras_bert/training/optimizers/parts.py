"""The parts of an optimizer that differ between the backends of Keras."""

import keras

if keras.backend.backend() == "tensorflow":
    from keras_bert.training.optimizers.on_tensorflow import (
        half_square_sum,
        run_update,
        subtract_product,
        sum_over_replicas,
        to_dense,
    )
else:
    from keras_bert.training.optimizers.on_other_backends import (
        half_square_sum,
        run_update,
        subtract_product,
        sum_over_replicas,
        to_dense,
    )

__all__ = [
    "half_square_sum",
    "run_update",
    "subtract_product",
    "sum_over_replicas",
    "to_dense",
]

"""Dropout that draws one random number for two entries."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class Dropout(keras.layers.Layer):
    """In training, each entry of x becomes 0 with probability `rate`.

    The entries kept are divided by 1 - `rate`. x is of any shape and float
    dtype; entries are dropped independently of each other.

    Drawing random numbers is most of what dropout costs on a CPU, so here
    one number u, uniform in [0, 1), decides for two entries: with the rate r,
    the first is dropped where u is in [0, r), the second in
    [r - r^2, 2r - r^2). Both intervals are r long and share r^2, as two
    independent events do. u is float32 whatever the dtype of x; in bfloat16,
    keras.layers.Dropout(0.1) drops 0.102 of the entries.
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(
                f"The dropout rate is {rate}; give a number from 0 to below 1."
            )
        self.rate = rate
        self.seed = seed
        self.supports_masking = True  # of what comes from a BiLSTM
        if rate > 0:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True  # `keras.Model.quantize` checks it before any call

    def call(self, x, training=False):
        if not training or self.rate == 0:
            return x
        size, *others = ops.shape(x)
        u = keras.random.uniform(
            ((size + 1) // 2, *others),
            dtype="float32",
            seed=self.seed_generator,
        )
        start = self.rate - self.rate**2
        is_kept = ops.concatenate(
            [u >= self.rate, (u < start) | (u >= start + self.rate)]
        )[:size]
        return ops.where(is_kept, x * (1 / (1 - self.rate)), 0.0)

    def compute_output_spec(self, x, training=False):
        return keras.KerasTensor(x.shape, x.dtype)

    def get_config(self):
        return super().get_config() | {"rate": self.rate, "seed": self.seed}

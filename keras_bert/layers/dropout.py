"""Dropout that draws one random number for every two entries."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class Dropout(keras.layers.Layer):
    """Sets each entry to 0 with the probability `rate`, in training only.

    The other entries are divided by 1 - `rate`. The input can have any shape
    and float dtype. The entries are dropped independently of each other.

    On a CPU, most of the time of dropout goes into random numbers, so one
    number u, uniform in [0, 1), decides about two entries. With the rate r, the
    first entry is dropped if u is in [0, r), and the second entry is dropped if
    u is in [r - r^2, 2r - r^2). Each interval has the length r, and their
    overlap has the length r^2, as for two independent events. u is always
    float32: in bfloat16, keras.layers.Dropout(0.1) drops 0.102 of the entries.

    As with all Keras layers that draw random numbers, the replicas of a
    `MirroredStrategy` drop the same entries under plain `compile` and `fit`. In
    `finetune` and `pretrain`, each replica has its own seed and drops its own
    entries.

    Example:
        >>> layer = keras_bert.layers.Dropout(0.5, seed=7)
        >>> np.unique(layer(np.ones([8, 8]), training=True))
        array([0., 2.], dtype=float32)
    """

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if not 0 <= rate < 1:
            raise ValueError(
                f"The dropout rate is {rate}; give a number from 0 to below 1."
            )
        self.rate = rate
        self.seed = seed
        self.supports_masking = True  # a BiLSTM needs the mask
        if rate > 0:
            self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True  # `keras.Model.quantize` checks it before any call

    def call(self, x: Any, training: bool | None = False) -> Any:
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

    def compute_output_spec(self, x: Any, training: bool | None = False) -> Any:
        return keras.KerasTensor(x.shape, x.dtype)

"""The optimizer of a run, by its name in the config."""

import functools
from collections.abc import Callable, Mapping, Sequence

import keras
import tensorflow as tf

from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import sum_over_replicas
from keras_bert.training.optimizers import adam

_OPTIMIZERS: dict[str, Callable[..., keras.optimizers.Optimizer]] = {
    "adam_weight_decay": adam.AdamWeightDecay,
    "lamb": adam.Lamb,
    # As in Keras: the epsilon, and exclusions that look only at the last part
    # of a path.
    "adamw": functools.partial(
        adam.AdamW,
        epsilon=1e-7,
        exclude_from_weight_decay=(r"(bias|gamma|beta)[^/]*$",),
    ),
}


def build_optimizer(
    config: TrainConfig,
    num_train_steps: int,
    num_warmup_steps: int,
    learning_rate_factors: Mapping[str, float] | None = None,
    share_of_time: keras.Variable | None = None,
) -> keras.optimizers.Optimizer:
    """Returns `config.optimizer` with BERT's schedule, clipping and decay.

    For the learning_rate_factors, see `DecoupledDecayOptimizer`; for the
    share_of_time, see `WarmupDecay`.

    In float16, the optimizer also scales the loss, and skips every step whose
    gradients are not finite.
    """
    optimizer = _OPTIMIZERS[config.optimizer](
        adam.WarmupDecay(
            config.learning_rate,
            num_train_steps,
            num_warmup_steps,
            config.decay_power,
            config.stable_proportion,
            share_of_time,
        ),
        weight_decay_rate=config.weight_decay_rate,
        global_clipnorm=config.clip_norm,
        learning_rate_factors=learning_rate_factors,
    )
    if config.precision == "float16":
        return LossScaleOptimizer(optimizer)
    return optimizer


@keras.saving.register_keras_serializable(package="keras_bert")
class LossScaleOptimizer(keras.optimizers.LossScaleOptimizer):
    """Scales the loss in float16; checks the gradients of all replicas.

    Keras' own optimizer checks the gradients of the first replica only.
    """

    def check_finite(self, grads: Sequence[tf.Tensor]) -> tf.Tensor:
        overflows = tf.cast(~super().check_finite(grads), tf.float32)
        return sum_over_replicas(overflows) == 0

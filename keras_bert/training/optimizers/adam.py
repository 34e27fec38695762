"""BERT's own Adam and its schedule, Keras' AdamW, and LAMB."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.training.losses import Tensor
from keras_bert.training.optimizers import backend
from keras_bert.training.optimizers.backend import Constants, Tensors, Updated
from keras_bert.training.optimizers.optimizer import (
    DecoupledDecayOptimizer,
    Slot,
)

# JAX has no float64 by default.
_STEP_DTYPE = "float32" if keras.backend.backend() == "jax" else "float64"


@keras.saving.register_keras_serializable(package="keras_bert")
class AdamWeightDecay(DecoupledDecayOptimizer):
    """Adam without bias correction, with decoupled weight decay.

    Adds -learning_rate * (m / (sqrt(v) + epsilon) + weight_decay_rate * p) to
    each variable p, as `AdamWeightDecayOptimizer` of google-research/bert does;
    m and v are the running means of the gradient and of its square. Biases and
    layer norms are not decayed. For the arguments see
    `DecoupledDecayOptimizer`.

    Example:
        >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        >>> optimizer = keras_bert.training.AdamWeightDecay(
        ...     keras_bert.training.WarmupDecay(1e-3, 100, 10)
        ... )
        >>> model.compile(optimizer, "mse")
        >>> history = model.fit(np.ones([8, 3]), np.ones(8), verbose=0)
    """

    def update(
        self, slot: Slot, gradient: Tensor, scale: Tensor, learning_rate: Tensor
    ) -> None:
        self.advance(_adam, slot, gradient, scale, learning_rate)


@keras.saving.register_keras_serializable(package="keras_bert")
class AdamW(DecoupledDecayOptimizer):
    """Keras' AdamW with learning-rate factors.

    On one device, the results are bit-identical to Keras'. For the arguments
    see `DecoupledDecayOptimizer`.
    """

    def update(
        self, slot: Slot, gradient: Tensor, scale: Tensor, learning_rate: Tensor
    ) -> None:
        dtype = slot.variable.dtype
        step = ops.cast(self.iterations + 1, dtype)
        power_1 = ops.power(ops.cast(self.beta_1, dtype), step)
        power_2 = ops.power(ops.cast(self.beta_2, dtype), step)
        rate = ops.cast(learning_rate, dtype)
        corrected = rate * ops.sqrt(1 - power_2) / (1 - power_1)
        # Not compiled, because a compiled loop rounds less often than Keras.
        inputs = gradient, scale, rate, corrected
        self.advance(_adamw, slot, *inputs, is_compiled=False)

    def clip_scale(self, grads: Sequence[Tensor]) -> Tensor:
        # This rounds as Keras does, not as the base class does.
        squares = [ops.sum(ops.square(g)) for g in grads]
        norm = ops.sqrt(ops.sum(ops.stack(squares)))
        clip_norm = self.global_clipnorm
        scale = clip_norm * ops.minimum(1.0 / norm, 1.0 / clip_norm)
        return scale + (norm - norm)


@keras.saving.register_keras_serializable(package="keras_bert")
class Lamb(DecoupledDecayOptimizer):
    """LAMB, for large batches: updates are proportional to a variable's norm.

    Algorithm 2 of You et al. (2019, arXiv 1904.00962), with bias correction:
    the direction u is m_hat / (sqrt(v_hat) + epsilon) + weight_decay_rate * p,
    and the variable p changes by `-learning_rate * |p| / |u| * u`. The ratio
    `|p| / |u|` is 1 if either norm is 0. Biases and layer norms have neither
    decay nor ratio. For the arguments see `DecoupledDecayOptimizer`.

    Example:
        >>> optimizer = keras_bert.training.Lamb(0.01, weight_decay_rate=0.0)
        >>> kernel = keras.Variable([3.0, 4.0])
        >>> optimizer.apply([np.array([0.1, 0.1])], [kernel])
        >>> bool(abs(kernel.numpy() - [2.965, 3.965]).max() < 1e-3)
        True
    """

    def update(
        self, slot: Slot, gradient: Tensor, scale: Tensor, learning_rate: Tensor
    ) -> None:
        step = ops.cast(self.iterations, _STEP_DTYPE) + 1.0
        direction = self.advance(
            _lamb,
            slot,
            gradient,
            scale,
            -ops.expm1(step * math.log(self.beta_1)),  # 1 - beta_1**step
            -ops.expm1(step * math.log(self.beta_2)),
        )
        rate = ops.cast(learning_rate, direction.dtype)
        if not slot.is_excluded:
            # Not `rate *= ratio`, which on torch changes the rate of all
            # variables. The sums are not in the compiled loop, because XLA
            # computes a sum on one core of a CPU.
            p = backend.half_square_sum(ops.convert_to_tensor(slot.variable))
            u = backend.half_square_sum(direction)
            ratio = ops.where((p > 0) & (u > 0), ops.sqrt(p / u), 1.0)
            rate = rate * ratio
        backend.subtract_product(slot.variable, rate, direction)


@keras.saving.register_keras_serializable(package="keras_bert")
@dataclasses.dataclass(eq=False)
class WarmupDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up, then decay to 0 at the last step.

    After the warm-up, the rate is
    `learning_rate * (1 - step / num_train_steps) ** power`. The decay counts
    from the first step, not from the end of the warm-up, so the rate drops a
    little when the warm-up ends, as in google-research/bert. With a
    `stable_proportion`, the rate stays at its peak until this share of the
    steps is done, and the decay counts from there (warm-up-stable-decay: Hu et
    al. 2024, arXiv 2404.06395, section 4).

    Args:
        learning_rate: The peak of the learning rate.
        num_train_steps: The step at which the rate is 0.
        num_warmup_steps: The number of steps until the rate is at its peak.
        power: The exponent of the decay: 1 is linear; NVIDIA's recipe for LAMB
            uses 0.5.
        stable_proportion: The share of all steps, including the warm-up, that
            come before the decay.
        share_of_time: A variable with the share of the run's time that has
            elapsed, if the run has a time limit. The decay follows this share
            or the share of the steps, whichever is larger (Izsak et al. 2021,
            arXiv 2104.07705).

    Example:
        >>> schedule = keras_bert.training.WarmupDecay(0.01, 100, 10)
        >>> [round(float(schedule(updates)), 4) for updates in (0, 4, 54, 99)]
        [0.001, 0.005, 0.0045, 0.0]
    """

    learning_rate: float
    num_train_steps: int
    num_warmup_steps: int
    power: float = 1.0
    stable_proportion: float = 0.0
    share_of_time: keras.Variable | None = None

    def __call__(self, step: Tensor) -> Tensor:
        # In google-research/bert, the first update has the rate of step 1:
        # TensorFlow 1 increases the step before the update reads it.
        step = ops.cast(step, "float32") + 1.0
        share = ops.minimum(step / max(self.num_train_steps, 1), 1.0)
        if self.share_of_time is not None:
            share = ops.clip(self.share_of_time, share, 1.0)
        stable = self.stable_proportion
        share = ops.maximum(share - stable, 0.0) / (1.0 - stable)
        return self.learning_rate * ops.where(
            step < self.num_warmup_steps,
            step / max(self.num_warmup_steps, 1),
            (1.0 - share) ** self.power,
        )

    def get_config(self) -> dict[str, Any]:
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "share_of_time"  # it belongs to one run
        }


def _moments(
    m: Tensor, v: Tensor, gradient: Tensor, constants: Constants
) -> tuple[Tensor, Tensor]:
    """Returns the updated means of the gradients and of their squares."""
    m = m + (gradient - m) * (1 - constants.beta_1)
    v = v + (gradient * gradient - v) * (1 - constants.beta_2)
    return m, v


def _adam(values: Tensors, inputs: Tensors, constants: Constants) -> Updated:
    (m, v, p), (gradient, scale, rate) = values, inputs
    m, v = _moments(m, v, gradient * scale, constants)
    direction = m / (ops.sqrt(v) + constants.epsilon) + constants.decay * p
    return (m, v, p - rate * direction), None


def _adamw(values: Tensors, inputs: Tensors, constants: Constants) -> Updated:
    (m, v, p), (gradient, scale, rate, corrected) = values, inputs
    p = p - p * constants.decay * rate
    m, v = _moments(m, v, gradient * scale, constants)
    return (m, v, p - m * corrected / (ops.sqrt(v) + constants.epsilon)), None


def _lamb(values: Tensors, inputs: Tensors, constants: Constants) -> Updated:
    (m, v, p), (gradient, scale, correction_1, correction_2) = values, inputs
    m, v = _moments(m, v, gradient * scale, constants)
    m_hat, v_hat = m / correction_1, v / correction_2
    direction = m_hat / (ops.sqrt(v_hat) + constants.epsilon)
    return (m, v), direction + constants.decay * p

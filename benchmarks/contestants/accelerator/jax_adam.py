"""google-research/bert's Adam as a pure function of JAX arrays.

The function does what `keras_bert.training.AdamWeightDecay` does: no bias
correction, decoupled weight decay, and clipping by the norm of all gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-6
_WEIGHT_DECAY_RATE = 0.01
_CLIP_NORM = 1.0
_NOT_DECAYED = ("layer_norm", "bias")

# The first and the second moment of each weight.
Moments = list[tuple[jax.Array, jax.Array]]


def no_moments(weights: Sequence[jax.Array]) -> Moments:
    """Returns the moments before the first step."""
    return [(jnp.zeros_like(x), jnp.zeros_like(x)) for x in weights]


def apply_gradients(
    gradients: Sequence[jax.Array],
    weights: Sequence[jax.Array],
    moments: Moments,
    paths: Sequence[str],
    learning_rate: float,
) -> tuple[list[jax.Array], Moments]:
    """Returns the weights and moments after a step.

    `paths` are the paths of the weights: biases and layer norms do not decay.
    """
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(x)) for x in gradients))
    scale = _CLIP_NORM / jnp.maximum(norm, _CLIP_NORM)
    new_weights, new_moments = [], []
    for gradient, weight, (m, v), path in zip(
        gradients, weights, moments, paths, strict=True
    ):
        gradient = gradient * scale
        m = m + (1 - _BETA_1) * (gradient - m)
        v = v + (1 - _BETA_2) * (gradient * gradient - v)
        direction = m / (jnp.sqrt(v) + _EPSILON)
        if not any(name in path for name in _NOT_DECAYED):
            direction += _WEIGHT_DECAY_RATE * weight
        new_weights.append(weight - learning_rate * direction)
        new_moments.append((m, v))
    return new_weights, new_moments

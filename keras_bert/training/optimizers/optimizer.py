"""What BERT's optimizers share: moments, decay, clipping, rates."""

import dataclasses
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_bert.training.losses import Tensor
from keras_bert.training.optimizers import backend

# Options of a Keras optimizer that ours would ignore.
_REFUSED = (
    "weight_decay",
    "clipnorm",
    "clipvalue",
    "use_ema",
    "loss_scale_factor",
    "gradient_accumulation_steps",
)


@dataclasses.dataclass(frozen=True)
class Slot:
    """A variable, its moments, and how it is updated.

    Attributes:
        variable: The variable of the model.
        momentum: The mean of the variable's gradients.
        velocity: The mean of the squares of these gradients.
        is_excluded: Whether the variable is not decayed.
        factor: The factor of the variable's learning rate.
    """

    variable: keras.Variable
    momentum: keras.Variable
    velocity: keras.Variable
    is_excluded: bool
    factor: float


class DecoupledDecayOptimizer(keras.optimizers.Optimizer):
    """Keeps two moments per variable; weight decay does not use the moments.

    `apply` sums the gradients over the replicas before it clips them, so the
    update does not depend on how a batch is split. Keras clips the gradients of
    each replica separately. If a row of an embedding occurs several times in a
    batch, Keras also computes the norm as if each occurrence were another row.

    A subclass defines `update`.

    Args:
        learning_rate: A number or a schedule.
        weight_decay_rate: The decay per step, which is multiplied by the
            learning rate.
        beta_1: The decay of the mean of the gradients.
        beta_2: The decay of the mean of the squared gradients.
        epsilon: The number that is added to the square root of the second
            moment.
        exclude_from_weight_decay: Regular expressions: a variable is not
            decayed if one of them is found in its path.
        global_clipnorm: The largest global norm of the gradients, or None.
        learning_rate_factors: A mapping from regular expressions to factors of
            the learning rate, as in {"^layer_0/": 0.5, "bias": 2.0}. The first
            expression that is found in the path of a variable counts.
        **kwargs: The `name`; all other options of a Keras optimizer must have
            their defaults.
    """

    def __init__(
        self,
        learning_rate: float
        | keras.optimizers.schedules.LearningRateSchedule = 1e-4,
        weight_decay_rate: float = 0.01,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-6,
        exclude_from_weight_decay: str | Iterable[str] = ("layer_norm", "bias"),
        global_clipnorm: float | None = 1.0,
        learning_rate_factors: Mapping[str, float] | None = None,
        **kwargs: Any,
    ):
        super().__init__(
            learning_rate=learning_rate,
            global_clipnorm=global_clipnorm,
            **kwargs,
        )
        if given := [option for option in _REFUSED if getattr(self, option)]:
            raise ValueError(
                f"{type(self).__name__} does not have {given[0]}; use "
                "weight_decay_rate and global_clipnorm, or a Keras optimizer."
            )
        self.weight_decay_rate = weight_decay_rate
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.learning_rate_factors = dict(learning_rate_factors or {})
        self.exclude_from_weight_decay(exclude_from_weight_decay)

    def exclude_from_weight_decay(self, var_names: str | Iterable[str]) -> None:
        """Replaces the exclusions; must be called before `build`.

        Unlike in Keras, the `var_names` can be anywhere in the path of a
        variable (`layer_0/output/bias`), not only in the last part.
        """
        if self.built:
            raise ValueError(
                "exclude_from_weight_decay must be called before the optimizer "
                "is built."
            )
        if isinstance(var_names, str):
            var_names = [var_names]
        self._excluded_names = tuple(var_names)

    def build(self, variables: Sequence[keras.Variable]) -> None:
        if self.built:
            return
        super().build(variables)
        names = ["momentum", "velocity"]
        moments = self.add_optimizer_variables(variables, names)
        self._slots: dict[int, Slot] = {}
        for variable, m, v in zip(variables, *moments, strict=True):
            path = variable.path
            is_excluded = any(re.search(x, path) for x in self._excluded_names)
            factors = (
                factor
                for pattern, factor in self.learning_rate_factors.items()
                if re.search(pattern, path)
            )
            slot = Slot(variable, m, v, is_excluded, next(factors, 1.0))
            self._slots[id(variable)] = slot

    def apply(
        self,
        grads: Sequence[Tensor | None],
        trainable_variables: Iterable[keras.Variable] | None = None,
    ) -> None:
        """Updates the variables; call it in the context of a replica."""
        if not len(grads):
            return
        slots = self._slots_of(trainable_variables)
        pairs = list(zip(slots, grads, strict=True))
        if absent := [s.variable.path for s, grad in pairs if grad is None]:
            if len(absent) == len(pairs):
                raise ValueError("There is no gradient for any variable.")
            warnings.warn(
                f"There is no gradient for {', '.join(absent)}, because the "
                "loss does not depend on these weights.",
                stacklevel=2,
            )
        slots = [slot for slot, grad in pairs if grad is not None]
        grads = [grad for grad in grads if grad is not None]
        # As in the reference, the gradient of an embedding becomes dense: the
        # moments of every row decay at every step.
        grads = backend.sum_dense(grads)
        scale = self.clip_scale(grads) if self.global_clipnorm else 1.0
        learning_rate = self.learning_rate
        for slot, grad in zip(slots, grads, strict=True):
            rate = learning_rate
            if slot.factor != 1:  # 1 leaves the graph as it is
                rate = learning_rate * slot.factor
            self.update(slot, grad, scale, rate)
            constraint = slot.variable.constraint
            if constraint is not None:
                slot.variable.assign(constraint(slot.variable))
        self.iterations.assign_add(1)

    def update(
        self, slot: Slot, gradient: Tensor, scale: Tensor, learning_rate: Tensor
    ) -> None:
        """Updates a variable and its moments with `gradient * scale`."""
        raise NotImplementedError

    def advance(
        self,
        update: backend.Update,
        slot: Slot,
        *inputs: Tensor,
        is_compiled: bool = True,
    ) -> Tensor:
        """Assigns what `update` returns; see `run_update`.

        `update` is called with the moments and the variable, the inputs, and
        the constants.
        """
        decay = 0.0 if slot.is_excluded else self.weight_decay_rate
        return backend.run_update(
            update,
            backend.Constants(decay, self.beta_1, self.beta_2, self.epsilon),
            (slot.momentum, slot.velocity, slot.variable),
            inputs,
            is_compiled,
        )

    def clip_scale(self, grads: Sequence[Tensor]) -> Tensor:
        """Returns the factor that clips gradients.

        It is NaN if a gradient is not finite.
        """
        # Only the factor is computed here; the update multiplies the gradients
        # by it. A product here would read and write all gradients once more.
        halves = [backend.half_square_sum(g) for g in grads]
        norm = ops.sqrt(2.0 * ops.sum(ops.stack(halves)))
        scale = self.global_clipnorm / ops.maximum(norm, self.global_clipnorm)
        return scale + (norm - norm)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "weight_decay_rate": self.weight_decay_rate,
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
            "exclude_from_weight_decay": self._excluded_names,
            "learning_rate_factors": dict(self.learning_rate_factors),
        }

    def _slots_of(
        self, variables: Iterable[keras.Variable] | None
    ) -> list[Slot]:
        if variables is None:
            return list(self._slots.values())
        variables = list(variables)
        self.build(variables)
        try:
            return [self._slots[id(variable)] for variable in variables]
        except KeyError:
            raise ValueError(
                "The optimizer was built for other variables; make a new "
                "optimizer for these variables."
            ) from None

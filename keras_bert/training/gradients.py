"""The gradients of a global batch, the same however the batch is split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_bert.training.distribution import (
    gather_rows,
    num_replicas,
    replica_id,
    rows_of_replica,
    sum_over_replicas,
)
from keras_bert.training.losses import weighted_mean
from keras_bert.training.objectives import BatchObjective, Objective
from keras_bert.training.share import Share

# Added to a seed once per replica. A prime, so that it shares no factor with
# the number by which Keras reduces a seed: no two replicas get the same one.
_SEED_SHIFT = 1_000_000_007


class BatchGradients:
    """Computes the gradients of a batch's loss, in the context of a replica.

    The loss of an output is the weighted mean over all labels of the batch or,
    with a `BatchObjective`, a function of all rows: on all replicas, workers
    and micro-batches. The losses of the outputs are added, each times its
    weight. The gradients are this replica's part of a sum over replicas.

    Every row of the global batch gets its own dropout masks. On one device
    these are the same as Keras' own training would draw.
    """

    def __init__(
        self,
        network: keras.Model,
        objectives: Mapping[str, Objective],
        scale_loss: Callable[[Any], Any],
        all_labels: Callable[[Any, Any], Any],
        *,
        num_parts: int,
        jit_compile: bool,
    ):
        """`all_labels` takes features and labels and adds a teacher's labels.

        `num_parts` is the number of micro-batches.
        """
        self.batch_objectives, self.label_objectives = (
            {
                name: objective
                for name, objective in objectives.items()
                if isinstance(objective, BatchObjective) == of_batch
            }
            for of_batch in (True, False)
        )
        self._network = network
        self._objectives = objectives
        self._scale_loss = scale_loss
        self._all_labels = all_labels
        self._num_parts = num_parts
        self._is_compiled = jit_compile
        self._seed_variables = [
            v for v in network.variables if v.name == "seed_generator_state"
        ]
        # Not the whole step: XLA has no collectives of several replicas.
        self._take_gradients, self._take_outputs = (
            tf.function(function, jit_compile=True) if jit_compile else function
            for function in (self._of_part, self._outputs_only)
        )

    def __call__(self, features, labels, weights):
        """Returns the gradients and this replica's sums of the figures."""
        data = features, labels, weights
        totals = sum_over_replicas(
            {name: tf.reduce_sum(w) for name, w in weights.items()}
        )
        # Replicas share the seeds, and would all drop the same entries.
        shift = _SEED_SHIFT * tf.cast(replica_id(), tf.int64)
        seeds = [v.value + [shift, 0] for v in self._seed_variables]
        slopes, batch_sums = None, {}
        if self._takes_two_passes:
            # The slopes need all outputs first. The second pass computes the
            # same outputs again, from the same seeds, and their gradients.
            outputs = self._all_outputs(features, seeds)
            slopes, batch_sums = self._slopes(labels, outputs, weights)
        take = (
            self._take_gradients if self._num_parts == 1 else self._accumulate
        )
        gradients, sums, seeds = take(data, totals, seeds, slopes)
        for variable, seed in zip(self._seed_variables, seeds, strict=True):
            variable.assign(seed - [shift, 0])
        return gradients, sums | batch_sums

    def sums(self, labels, outputs, weights):
        """Returns the sums of all figures of outputs that are given."""
        sums = _sums(self.label_objectives, labels, outputs, weights)
        whole = self._whole_batch(labels, outputs, weights)
        return sums | _sums(self.batch_objectives, *whole)

    @property
    def _takes_two_passes(self):
        """Whether the batch objectives need a first pass for their outputs."""
        is_split = self._num_parts > 1
        # XLA cannot gather the outputs in the middle of a pass.
        is_split |= self._is_compiled and num_replicas() > 1
        return bool(self.batch_objectives) and is_split

    def _forward(self, features, seeds):
        """Returns outputs, the seeds after them, and updates of variables."""
        variables = self._seed_variables
        with keras.StatelessScope(zip(variables, seeds, strict=True)) as scope:
            outputs = self._network(features, training=True)
        updates = [
            (variable, scope.get_current_value(variable))
            for variable in self._network.non_trainable_variables
            if scope.get_current_value(variable) is not None
            and not any(variable is seed for seed in variables)
        ]
        return outputs, [scope.get_current_value(v) for v in variables], updates

    def _of_part(self, data, totals, seeds, slopes):
        """Returns gradients and sums of a part of the batch, and new seeds.

        If `slopes` is None, the part must be the whole batch of this replica.
        """
        features, labels, weights = data
        labels = self._all_labels(features, labels)
        with tf.GradientTape() as tape:
            outputs, seeds, updates = self._forward(features, seeds)
            losses = [
                objective.weight
                * weighted_mean(
                    objective.loss(labels[name], outputs[name]),
                    weights[name],
                    totals[name],
                )
                for name, objective in self.label_objectives.items()
            ]
            loss = self._scale_loss(sum(losses, tf.constant(0.0)))
        for variable, value in updates:  # such as the means of a batch norm
            variable.assign(value)
        sums = _sums(self.label_objectives, labels, outputs, weights)
        if slopes is None:
            slopes, batch_sums = self._slopes(labels, outputs, weights)
            sums |= batch_sums
        gradients = tape.gradient(
            [loss, *(outputs[name] for name in slopes)],
            self._network.trainable_variables,
            [tf.ones_like(loss), *slopes.values()],
        )
        return gradients, sums, seeds

    def _accumulate(self, data, totals, seeds, slopes):
        """As `_of_part` of the whole batch, one micro-batch at a time."""

        def add(i, part, seeds, so_far):
            gradients, sums, seeds = self._take_gradients(
                part[0], totals, seeds, part[1]
            )
            more = gradients, sums
            return seeds, tf.nest.map_structure(tf.add, so_far, more)

        none = (
            [tf.zeros_like(v) for v in self._network.trainable_variables],
            {
                (name, figure): (tf.constant(0.0),) * 2
                for name, objective in self.label_objectives.items()
                for figure in ("loss", *objective.metrics)
            },
        )
        seeds, total = self._over_parts(add, (data, slopes or {}), seeds, none)
        return *total, seeds

    def _all_outputs(self, features, seeds):
        """The outputs of `batch_objectives` for all rows of this replica."""
        specs = self._network.output

        def add(i, part, seeds, arrays):
            outputs, seeds = self._take_outputs(part, seeds)
            return seeds, {n: arrays[n].write(i, outputs[n]) for n in arrays}

        arrays = {
            name: tf.TensorArray(
                specs[name].dtype, self._num_parts, infer_shape=False
            )
            for name in self.batch_objectives
        }
        _, arrays = self._over_parts(add, features, seeds, arrays)
        return {
            name: tf.ensure_shape(array.concat(), specs[name].shape)
            for name, array in arrays.items()
        }

    def _over_parts(self, add, values, seeds, result):
        """Lets `add` take one micro-batch of the values after the other.

        Takes its number, its values, the seeds and the result so far; returns
        new seeds and a new result.
        """

        def step(i, seeds, result):
            share = Share(tf.cast(i, tf.int64), self._num_parts)
            return i + 1, *add(i, share.cut(values), seeds, result)

        _, seeds, result = tf.while_loop(
            lambda i, *_: i < self._num_parts,
            step,
            (tf.constant(0), seeds, result),
        )
        return seeds, result

    def _outputs_only(self, features, seeds):
        outputs, seeds, _ = self._forward(features, seeds)
        return {name: outputs[name] for name in self.batch_objectives}, seeds

    def _slopes(self, labels, outputs, weights):
        """Slopes of the batch losses at this replica's outputs; their sums."""
        whole = self._whole_batch(labels, outputs, weights)
        slopes = {}
        for name, objective in self.batch_objectives.items():
            y, x, w = (values[name] for values in whole)
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = objective.weight * objective.loss(y, x, w)
                loss = self._scale_loss(loss)
            slopes[name] = rows_of_replica(
                tape.gradient(loss, x), tf.shape(outputs[name])[0]
            )
        return slopes, _sums(self.batch_objectives, *whole)

    def _whole_batch(self, *values):
        return gather_rows(
            [{n: v[n] for n in self.batch_objectives} for v in values]
        )


def _sums(objectives, labels, outputs, weights):
    return {
        (name, figure): sums
        for name, objective in objectives.items()
        for figure, sums in objective.sums(
            labels[name], outputs[name], weights[name]
        ).items()
    }

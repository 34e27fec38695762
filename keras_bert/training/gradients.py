"""The gradients of a global batch, however the batch is split."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from keras_bert.training import distribution
from keras_bert.training.losses import weighted_mean
from keras_bert.training.objectives import BatchObjective, Objective

# A seed is shifted by this number times the index of the replica. The number is
# a prime, so it shares no factor with the modulus that Keras applies to seeds:
# no two replicas get the same seed.
_SEED_SHIFT = 1_000_000_007

# Tensors by the name of a feature or an output.
Tensors = Mapping[str, tf.Tensor]
# Tensors or TensorArrays in lists and dicts.
Nested = Any
# None for a variable on which the loss does not depend.
Gradients = list[tf.Tensor | None]
# The state of each generator of random numbers.
Seeds = list[tf.Tensor]
# The `Sums` of all outputs, by output and metric.
StepSums = dict[tuple[str, str], tuple[tf.Tensor, tf.Tensor]]
# The results of a pass through the network, and the seeds after the pass.
Passed = tuple[Gradients, StepSums, Seeds]


class _Part(NamedTuple):
    """A micro-batch, or the whole batch of this replica.

    `output_gradients` are the gradients of the batch objectives with respect to
    the outputs. If they are None, they are computed from the part, which must
    be the whole batch.
    """

    features: Tensors
    labels: Tensors
    weights: Tensors
    output_gradients: Tensors | None = None


@dataclasses.dataclass(eq=False)
class BatchGradients:
    """Computes the gradients of a batch's loss, in the context of a replica.

    The loss of an output is the weighted mean over all labels of the batch or,
    with a `BatchObjective`, a function of the rows on all replicas, workers and
    micro-batches. The losses of the outputs are added, each times its weight.
    The losses of layers, from `add_loss` and from regularizers, are added too.
    The gradients are this replica's part: their sum over all replicas is the
    gradient of the loss.

    Every row of the global batch gets its own dropout masks. On one device, the
    masks are those that Keras' `fit` would draw.

    Attributes:
        network: The network; the objectives name its outputs.
        objectives: The objective of each output.
        scale_loss: The optimizer's function that scales the loss, for float16.
        all_labels: A function of features and labels that returns the labels
            together with the teacher's labels, if there is a teacher.
        num_parts: The number of micro-batches.
        jit_compile: Whether a micro-batch is compiled with XLA.
    """

    network: keras.Model
    objectives: Mapping[str, Objective]
    scale_loss: Callable[[tf.Tensor], tf.Tensor]
    all_labels: Callable[[Tensors, Tensors], Tensors]
    num_parts: int
    jit_compile: bool

    def __post_init__(self) -> None:
        self._batch_objectives, self._label_objectives = (
            {
                name: objective
                for name, objective in self.objectives.items()
                if isinstance(objective, BatchObjective) is of_batch
            }
            for of_batch in (True, False)
        )
        self._seeds = seed_variables(self.network)
        self._take_gradients = self._of_part
        self._take_outputs = self._outputs_only
        if self.jit_compile:
            # The whole step cannot be compiled: XLA has no collectives of
            # several replicas.
            compiled = functools.partial(tf.function, jit_compile=True)
            self._take_gradients = compiled(self._of_part)
            self._take_outputs = compiled(self._outputs_only)

    def __call__(
        self, features: Tensors, labels: Tensors, weights: Tensors
    ) -> tuple[Gradients, StepSums]:
        """Returns the gradients and this replica's sums of the metrics."""
        data = _Part(features, labels, weights)
        totals = {name: tf.reduce_sum(w) for name, w in weights.items()}
        totals = distribution.sum_over_replicas(totals)
        # Replicas share the seeds: without a shift, all replicas would drop the
        # same entries.
        shift = _SEED_SHIFT * tf.cast(distribution.replica_id(), tf.int64)
        seeds = [v.value + [shift, 0] for v in self._seeds]
        batch_sums: StepSums = {}
        if self._takes_two_passes:
            # The gradients of batch objectives need all outputs first. The
            # second pass computes the same outputs again, from the same seeds.
            outputs = self._all_outputs(features, seeds)
            output_gradients, batch_sums = self._output_gradients(
                labels, outputs, weights
            )
            data = data._replace(output_gradients=output_gradients)
        is_whole = self.num_parts == 1
        take = self._take_gradients if is_whole else self._accumulate
        gradients, sums, seeds = take(data, totals, seeds)
        for variable, seed in zip(self._seeds, seeds, strict=True):
            variable.assign(seed - [shift, 0])
        return gradients, sums | batch_sums

    def sums(self, *values: Tensors) -> StepSums:
        """Returns the sums of all metrics on a batch.

        `values` are the labels, the outputs and the weights of this replica's
        rows of the batch.
        """
        sums = _sums(self._label_objectives, *values)
        return sums | _sums(self._batch_objectives, *self._whole_batch(*values))

    @property
    def _takes_two_passes(self) -> bool:
        """Whether a first pass computes the outputs for batch objectives."""
        is_split = self.num_parts > 1
        # XLA cannot gather the outputs in the middle of a pass.
        is_split |= self.jit_compile and distribution.num_replicas() > 1
        return bool(self._batch_objectives) and is_split

    def _forward(
        self, features: Tensors, seeds: Seeds
    ) -> tuple[
        Tensors, Seeds, list[tuple[keras.Variable, tf.Tensor]], list[tf.Tensor]
    ]:
        """Returns the outputs, the seeds after the pass, updates and losses.

        The updates are pairs of a variable and its new value. The losses come
        from layers and from regularizers.
        """
        given = zip(self._seeds, seeds, strict=True)
        with keras.StatelessScope(given, collect_losses=True) as scope:
            outputs = self.network(features, training=True)
        losses = [*scope.losses, *self.network.losses]
        updates = [
            (variable, scope.get_current_value(variable))
            for variable in self.network.non_trainable_variables
            if scope.get_current_value(variable) is not None
            and not any(variable is seed for seed in self._seeds)
        ]
        seeds = [scope.get_current_value(v) for v in self._seeds]
        return outputs, seeds, updates, losses

    def _of_part(self, part: _Part, totals: Tensors, seeds: Seeds) -> Passed:
        features, labels, weights, output_gradients = part
        labels = self.all_labels(features, labels)
        with tf.GradientTape() as tape:
            outputs, seeds, updates, losses = self._forward(features, seeds)
            loss = tf.constant(0.0)
            for name, objective in self._label_objectives.items():
                values = objective.loss(labels[name], outputs[name])
                mean = weighted_mean(values, weights[name], totals[name])
                loss += objective.weight * mean
            for x in losses:
                # The mean over all parts, as Keras takes the mean over its
                # replicas.
                num_parts = self.num_parts * distribution.num_replicas()
                loss += tf.cast(tf.reduce_sum(x), loss.dtype) / num_parts
            loss = self.scale_loss(loss)
        for variable, value in updates:  # such as the means of a batch norm
            variable.assign(value)
        sums = _sums(self._label_objectives, labels, outputs, weights)
        if output_gradients is None:
            output_gradients, batch_sums = self._output_gradients(
                labels, outputs, weights
            )
            sums |= batch_sums
        gradients = tape.gradient(
            [loss, *(outputs[name] for name in output_gradients)],
            self.network.trainable_variables,
            [tf.ones_like(loss), *output_gradients.values()],
        )
        if self.num_parts > 1:  # gradients of embeddings are sparse
            gradients = [
                None if x is None else tf.convert_to_tensor(x)
                for x in gradients
            ]
        return gradients, sums, seeds

    def _accumulate(self, data: _Part, totals: Tensors, seeds: Seeds) -> Passed:
        """Like `_of_part`, for a whole batch, one micro-batch at a time."""

        absent: set[int] = set()  # variables on which the loss does not depend

        def add(
            i: tf.Tensor, part: _Part, seeds: Seeds, so_far: Nested
        ) -> tuple[Seeds, Nested]:
            gradients, sums, seeds = self._take_gradients(part, totals, seeds)
            absent.update(j for j, x in enumerate(gradients) if x is None)
            gradients = [0.0 if x is None else x for x in gradients]
            more = gradients, sums
            return seeds, tf.nest.map_structure(tf.add, so_far, more)

        none = (
            [tf.zeros_like(v) for v in self.network.trainable_variables],
            {
                (name, metric): (tf.constant(0.0),) * 2
                for name, objective in self._label_objectives.items()
                for metric in ("loss", *objective.metrics)
            },
        )
        if data.output_gradients is None:  # there is no batch objective
            data = data._replace(output_gradients={})
        seeds, total = self._over_parts(add, data, seeds, none)
        gradients, sums = total
        for i in absent:
            gradients[i] = None
        return gradients, sums, seeds

    def _all_outputs(self, features: Tensors, seeds: Seeds) -> Tensors:
        """Returns the batch objectives' outputs for this replica's rows."""
        specs = self.network.output

        def add(
            i: tf.Tensor, part: Tensors, seeds: Seeds, arrays: Nested
        ) -> tuple[Seeds, Nested]:
            outputs, seeds = self._take_outputs(part, seeds)
            return seeds, {n: arrays[n].write(i, outputs[n]) for n in arrays}

        arrays = {
            name: tf.TensorArray(
                specs[name].dtype, self.num_parts, infer_shape=False
            )
            for name in self._batch_objectives
        }
        _, arrays = self._over_parts(add, features, seeds, arrays)
        return {
            name: tf.ensure_shape(array.concat(), specs[name].shape)
            for name, array in arrays.items()
        }

    def _over_parts(
        self,
        add: Callable[..., tuple[Seeds, Nested]],
        values: _Part | Tensors,
        seeds: Seeds,
        result: Nested,
    ) -> tuple[Seeds, Nested]:
        """Calls `add` with each micro-batch of the values in turn.

        `add` takes the index and the values of the micro-batch, the seeds and
        the result so far. It returns new seeds and a new result. Returns the
        seeds and the result of the last call.
        """

        def step(
            i: tf.Tensor, seeds: Seeds, result: Nested
        ) -> tuple[tf.Tensor, Seeds, Nested]:
            share = distribution.BatchShard(
                tf.cast(i, tf.int64), self.num_parts
            )
            return i + 1, *add(i, share.cut(values), seeds, result)

        _, seeds, result = tf.while_loop(
            lambda i, *_: i < self.num_parts,
            step,
            (tf.constant(0), seeds, result),
        )
        return seeds, result

    def _outputs_only(
        self, features: Tensors, seeds: Seeds
    ) -> tuple[Tensors, Seeds]:
        outputs, seeds, *_ = self._forward(features, seeds)
        return {name: outputs[name] for name in self._batch_objectives}, seeds

    def _output_gradients(
        self, labels: Tensors, outputs: Tensors, weights: Tensors
    ) -> tuple[Tensors, StepSums]:
        """Returns the gradients of the batch objectives, and their sums.

        A gradient is the derivative of an objective's loss with respect to this
        replica's rows of the output.
        """
        whole = self._whole_batch(labels, outputs, weights)
        output_gradients = {}
        for name, objective in self._batch_objectives.items():
            y, x, w = (values[name] for values in whole)
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = objective.weight * objective.loss(y, x, w)
                loss = self.scale_loss(loss)
            output_gradients[name] = distribution.rows_of_replica(
                tape.gradient(loss, x), tf.shape(outputs[name])[0]
            )
        return output_gradients, _sums(self._batch_objectives, *whole)

    def _whole_batch(self, *values: Tensors) -> list[Tensors]:
        return distribution.gather_rows(
            [{n: v[n] for n in self._batch_objectives} for v in values]
        )


def seed_variables(network: keras.Model) -> list[keras.Variable]:
    """Returns the states of the generators of a network's dropout."""
    return [v for v in network.variables if v.name == "seed_generator_state"]


def _sums(objectives: Mapping[str, Objective], *values: Tensors) -> StepSums:
    """Returns the sums of the losses and metrics of all outputs.

    The values are the labels, the outputs and the weights.
    """
    return {
        (name, metric): x
        for name, objective in objectives.items()
        for metric, x in objective.sums(*(v[name] for v in values)).items()
    }

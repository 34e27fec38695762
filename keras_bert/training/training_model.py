"""One step of training, the same however its batch is split."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping

import keras
import tensorflow as tf

from keras_bert.training.losses import weighted_mean

_PerLabel = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
# Features of a batch -> how much there is in it, by the names of WORK.
CountWork = Callable[[Mapping[str, tf.Tensor]], Mapping[str, tf.Tensor]]
# flops are those that training on the batch takes.
WORK = ("sequences", "tokens", "flops")


@dataclasses.dataclass(frozen=True)
class Objective:
    """What an output is trained on and measured by; see losses.py.

    Attributes:
        loss: Labels and output -> a number per label, to be made small.
        metrics: Others, to be reported, by name.
        of_mean_loss: Figures that follow from the mean loss, by name.
    """

    loss: _PerLabel
    metrics: Mapping[str, _PerLabel] = dataclasses.field(default_factory=dict)
    of_mean_loss: Mapping[str, Callable[[tf.Tensor], tf.Tensor]] = (
        dataclasses.field(default_factory=dict)
    )


class TrainingModel(keras.Model):
    """A functional model with a loss that is a mean over the global batch.

    Data are (features, labels, weights), the last two by output; without
    weights each label weighs 1. The loss of an output is the weighted mean
    over all labels of the batch, on all replicas, workers and micro-batches;
    the losses of all outputs are added. Compile it with an optimizer alone.

    In the log, figures of the output `logits` stand under their own names,
    those of others with the output's name before them.
    """

    def __init__(
        self,
        model: keras.Model,
        objectives: Mapping[str, Objective],
        *,
        count_work: CountWork,
        gradient_accumulation_steps: int = 1,
        jit_compile: bool = False,
    ):
        super().__init__(model.input, model.output, name=model.name)
        self._objectives = dict(objectives)
        self._num_parts = gradient_accumulation_steps
        if jit_compile:
            # Not the whole step: XLA has no collectives of several replicas.
            self._gradients = tf.function(self._gradients, jit_compile=True)
        self._means = {
            (output, figure): keras.metrics.Mean(name=_log_name(output, figure))
            for output, objective in objectives.items()
            for figure in ("loss", *objective.metrics)
        }
        self._count_work = count_work
        # Each replica adds up its own: nothing is sent in a step.
        self._work = tf.Variable(
            tf.zeros(len(WORK)),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    @property
    def metrics(self):
        return list(self._means.values())

    def take_work(self) -> dict[str, float]:
        """The work of all training steps since the last call.

        Over all replicas; all of several workers have to call it.
        """
        amounts = self._work.numpy()
        self._work.assign(tf.zeros(len(WORK)))
        return dict(zip(WORK, map(float, amounts), strict=True))

    @property
    def first_device(self) -> str:
        """Where the first replica of this process computes."""
        results = self.distribute_strategy.experimental_local_results
        return results(self._work)[0].device

    # Keras' own functions cannot take several steps on two replicas, and
    # refuse several workers (keras issue 20585).
    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return
        run_step = self._on_all_replicas(self.train_step)

        @functools.partial(tf.function, reduce_retracing=True)
        def take_steps(iterator):
            for _ in tf.range(self.steps_per_execution - 1):
                run_step(next(iterator))
            return run_step(next(iterator))

        self.train_function = take_steps

    def make_test_function(self, force=False):
        if self.test_function is not None and not force:
            return
        run_step = tf.function(
            self._on_all_replicas(self.test_step), reduce_retracing=True
        )

        def take_steps(iterator):
            logs = run_step(next(iterator))
            # The last execution may find fewer batches than the others.
            more = itertools.islice(iterator, self.steps_per_execution - 1)
            for data in more:
                logs = run_step(data)
            return logs

        self.test_function = take_steps

    def _on_all_replicas(self, step):
        strategy = self.distribute_strategy

        @tf.autograph.experimental.do_not_convert
        def run_step(data):
            logs = strategy.run(step, (data,))
            # The same on all: the means add up over the replicas.
            return {
                name: strategy.experimental_local_results(value)[0]
                for name, value in logs.items()
            }

        return run_step

    def train_step(self, data):
        data = self._unpack(data)
        totals = _sum_over_replicas(
            {name: tf.reduce_sum(w) for name, w in data[2].items()}
        )
        if self._num_parts == 1:
            gradients, sums = self._gradients(data, totals)
        else:
            gradients, sums = self._accumulate(data, totals)
        self.optimizer.apply(gradients, self.trainable_variables)
        work = self._count_work(data[0])
        self._work.assign_add([work[name] for name in WORK])
        return self._log(sums)

    def test_step(self, data):
        features, labels, weights = self._unpack(data)
        outputs = self(features, training=False)
        return self._log(self._sums(labels, outputs, weights))

    def _unpack(self, data):
        features, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if weights is None:
            weights = {name: tf.ones_like(y) for name, y in labels.items()}
        return (
            features,
            labels,
            {name: tf.cast(w, tf.float32) for name, w in weights.items()},
        )

    def _gradients(self, data, totals):
        """Of one part of the batch; with them, the figures' sums."""
        features, labels, weights = data
        with tf.GradientTape() as tape:
            outputs = self(features, training=True)
            loss = sum(
                weighted_mean(
                    objective.loss(labels[name], outputs[name]),
                    weights[name],
                    totals[name],
                )
                for name, objective in self._objectives.items()
            )
            loss = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(loss, self.trainable_variables)
        return gradients, self._sums(labels, outputs, weights)

    def _accumulate(self, data, totals):
        """As `_gradients` of the whole batch, one micro-batch at a time."""

        def add(i, gradients, sums):
            part = tf.nest.map_structure(lambda x: self._part(x, i), data)
            more_gradients, more_sums = self._gradients(part, totals)
            return (
                i + 1,
                list(map(tf.add, gradients, more_gradients)),
                tf.nest.map_structure(tf.add, sums, more_sums),
            )

        no_gradients = [tf.zeros_like(v) for v in self.trainable_variables]
        no_sums = {key: (tf.constant(0.0),) * 2 for key in self._means}
        _, gradients, sums = tf.while_loop(
            lambda i, *_: i < self._num_parts,
            add,
            (tf.constant(0), no_gradients, no_sums),
        )
        return gradients, sums

    def _part(self, x, i):
        num_rows = x.shape[0] or tf.shape(x)[0]
        begin = i * num_rows // self._num_parts
        if x.shape[0] and x.shape[0] % self._num_parts == 0:
            size = x.shape[0] // self._num_parts  # known, as XLA wants it
        else:
            size = (i + 1) * num_rows // self._num_parts - begin
        rest = len(x.shape) - 1
        return tf.slice(x, [begin] + [0] * rest, [size] + [-1] * rest)

    def _sums(self, labels, outputs, weights):
        """Each figure's weighted sum, and the sum of the weights."""
        sums = {}
        for name, objective in self._objectives.items():
            functions = {"loss": objective.loss, **objective.metrics}
            total = tf.reduce_sum(weights[name])
            for figure, function in functions.items():
                values = function(labels[name], outputs[name])
                weighted = tf.reduce_sum(weights[name] * values)
                sums[name, figure] = (weighted, total)
        return sums

    def _log(self, sums):
        logs = {}
        for key, (weighted, total) in _sum_over_replicas(sums).items():
            mean = self._means[key]
            mean.update_state(tf.math.divide_no_nan(weighted, total), total)
            logs[mean.name] = mean.result()
        for output, objective in self._objectives.items():
            loss = logs[_log_name(output, "loss")]
            for figure, function in objective.of_mean_loss.items():
                logs[_log_name(output, figure)] = function(loss)
        logs["loss"] = sum(
            logs[_log_name(name, "loss")] for name in self._objectives
        )
        return logs

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Builds the optimizer; the rest of a functional model is built.

        Keras would reduce the first batch to one replica's for this, which
        several workers refuse too.
        """
        with self.distribute_strategy.scope():
            self.optimizer.build(self.trainable_variables)


def _log_name(output, figure):
    return figure if output == "logits" else f"{output}_{figure}"


def _sum_over_replicas(values):
    context = tf.distribute.get_replica_context()
    return context.all_reduce(tf.distribute.ReduceOp.SUM, values)

"""Steps of training and evaluation on all replicas, and their metrics."""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_bert.progress import Progress
from keras_bert.training.distribution import sum_over_replicas
from keras_bert.training.gradients import BatchGradients, StepSums, Tensors
from keras_bert.training.objectives import Distillation, Objective

# Features of a batch -> the amounts of WORK in it, by name.
CountWork = Callable[[Tensors], Tensors]
# `flops` are the operations that training on the batch takes.
WORK = ("sequences", "tokens", "flops")
# Metrics of one or several steps: tensors on the device.
Metrics = Tensors


@dataclasses.dataclass(eq=False)
class Steps:
    """Trains and evaluates a functional model, step by step.

    Create it in the scope of the strategy. Data are (features, labels,
    weights); labels and weights are dicts by output. By default, every label
    has the weight 1. See `BatchGradients` for the loss and the dropout.

    The names of metrics begin with the name of their output, unless the output
    is `logits`. Metrics are means over all labels since `reset_metrics`.

    Attributes:
        network: The network to train; with a `distillation`, the network in it.
        objectives: The objectives by the name of the output; with a
            `distillation`, the objectives in it.
        optimizer: The optimizer of the weights.
        count_work: A function of the features of a batch; see `WORK`.
        gradient_accumulation_steps, steps_per_execution: See `DeviceConfig`.
        jit_compile: Whether the steps are compiled with XLA.
        distillation: How the network learns from a teacher, which labels each
            micro-batch; None without a teacher.
    """

    network: keras.Model
    objectives: Mapping[str, Objective]
    optimizer: keras.optimizers.Optimizer
    _: dataclasses.KW_ONLY
    count_work: CountWork
    gradient_accumulation_steps: int = 1
    steps_per_execution: int = 1
    jit_compile: bool = False
    distillation: Distillation | None = None

    def __post_init__(self) -> None:
        self.optimizer.build(self.network.trainable_variables)
        self._strategy = tf.distribute.get_strategy()
        self._gradients = BatchGradients(
            self.network,
            self.objectives,
            self.optimizer.scale_loss,
            self._all_labels,
            self.gradient_accumulation_steps,
            self.jit_compile,
        )
        self._means = {
            (output, metric): keras.metrics.Mean(name=_name(output, metric))
            for output, objective in self.objectives.items()
            for metric in ("loss", *objective.metrics)
        }
        # Each replica adds up its own amounts, so a step needs no
        # communication.
        self._work = _counter(tf.zeros(len(WORK)), tf.VariableAggregation.SUM)
        # The number of steps since `reset_metrics`, and the first of these
        # steps whose loss was not finite, or 0. The loss is the same on all
        # replicas.
        first = tf.VariableAggregation.ONLY_FIRST_REPLICA
        self._num_steps = _counter(tf.zeros([], tf.int64), first)
        self._first_nonfinite_step = _counter(tf.zeros([], tf.int64), first)
        self._train_step = self._on_all_replicas(self.train_step)
        test_step = self._on_all_replicas(self.test_step)
        traced = functools.partial(tf.function, reduce_retracing=True)
        self._take_steps = traced(self._steps_on_iterator)
        self._take_test_step = traced(test_step)

    def train(self, batches: Iterator) -> Metrics:
        """Takes `steps_per_execution` steps, and returns without waiting."""
        return self._take_steps(batches)

    def evaluate(self, batches: Iterable, num_batches: int) -> dict[str, float]:
        """Returns the metrics of `num_batches` batches; shows the progress."""
        self.reset_metrics()
        iterator = iter(batches)
        metrics: Metrics = {}
        with Progress("Evaluating", num_batches, "batches") as progress:
            for _ in range(num_batches):
                metrics = self._take_test_step(next(iterator))
                progress.update(1)
        self.reset_metrics()
        return {name: float(value) for name, value in metrics.items()}

    def reset_metrics(self) -> None:
        with self._strategy.scope():
            for mean in self._means.values():
                mean.reset_state()
            for counter in (self._num_steps, self._first_nonfinite_step):
                counter.assign(0)

    @property
    def first_nonfinite_step(self) -> int:
        """The first step since `reset_metrics` whose loss is not finite, or 0.

        The steps since `reset_metrics` are counted from 1.
        """
        return int(self._first_nonfinite_step.numpy())

    def take_work(self) -> dict[str, float]:
        """Returns the work of all replicas in all steps since the last call.

        Only training steps count. All workers must call this.
        """
        amounts = self._work.numpy()
        self._work.assign(tf.zeros(len(WORK)))
        return dict(zip(WORK, map(float, amounts), strict=True))

    def train_step(self, data: Any) -> Metrics:
        """Takes a training step in a replica's context; returns the metrics."""
        features, labels, weights = self._unpack(data)
        # The learning rate of this step, not of the next one.
        learning_rate = tf.convert_to_tensor(self.optimizer.learning_rate)
        gradients, sums = self._gradients(features, labels, weights)
        self.optimizer.apply(gradients, self.network.trainable_variables)
        work = self.count_work(features)
        self._work.assign_add([work[name] for name in WORK])
        metrics = self._add_to_means(sums, counts_step=True)
        return {**metrics, "learning_rate": learning_rate}

    def test_step(self, data: Any) -> Metrics:
        """Evaluates a batch in a replica's context; returns the metrics so far.

        They are the means over all batches since `reset_metrics`.
        """
        features, labels, weights = self._unpack(data)
        labels = self._all_labels(features, labels)
        outputs = self.network(features, training=False)
        sums = self._gradients.sums(labels, outputs, weights)
        return self._add_to_means(sums)

    def _steps_on_iterator(self, batches: Iterator) -> Metrics:
        if self.steps_per_execution > 1:  # a loop traces the step again
            for _ in tf.range(self.steps_per_execution - 1):
                self._train_step(next(batches))
        return self._train_step(next(batches))

    def _on_all_replicas(
        self, step: Callable[[Any], Metrics]
    ) -> Callable[[Any], Metrics]:
        @tf.autograph.experimental.do_not_convert
        def run_step(data: Any) -> Metrics:
            metrics = self._strategy.run(step, (data,))
            # The metrics are equal on all replicas, which share their sums.
            return {
                name: self._strategy.experimental_local_results(value)[0]
                for name, value in metrics.items()
            }

        return run_step

    def _unpack(self, data: Any) -> tuple[Tensors, Tensors, Tensors]:
        features, labels, weights = keras.utils.unpack_x_y_sample_weight(data)
        if weights is None:
            weights = {name: tf.ones_like(y) for name, y in labels.items()}
        weights = {n: tf.cast(w, tf.float32) for n, w in weights.items()}
        if self.distillation:
            weights |= self.distillation.weights(features, weights)
        return features, labels, weights

    def _all_labels(self, features: Tensors, labels: Tensors) -> Tensors:
        if self.distillation:
            labels = {**labels, **self.distillation.labels(features)}
        return labels

    def _add_to_means(
        self, sums: StepSums, counts_step: bool = False
    ) -> Metrics:
        """Adds a batch to the means of all metrics, and returns the means."""
        metrics: dict[str, tf.Tensor] = {}
        loss = tf.constant(0.0)
        for key, (weighted, total) in sum_over_replicas(sums).items():
            value = tf.math.divide_no_nan(weighted, total)
            mean = self._means[key]
            mean.update_state(value, total)
            metrics[mean.name] = mean.result()
            if key[1] == "loss":
                loss += value
        if counts_step:
            self._num_steps.assign_add(1)
            is_first = self._first_nonfinite_step == 0
            is_first &= ~tf.math.is_finite(loss)
            self._first_nonfinite_step.assign(
                tf.where(is_first, self._num_steps, self._first_nonfinite_step)
            )
        for output, objective in self.objectives.items():
            loss = metrics[_name(output, "loss")]
            for metric, function in objective.of_mean_loss.items():
                metrics[_name(output, metric)] = function(loss)
        loss = sum(
            objective.weight * metrics[_name(name, "loss")]
            for name, objective in self.objectives.items()
        )
        return {"loss": loss} | metrics | {"loss": loss}


def _name(output: str, metric: str) -> str:
    return metric if output == "logits" else f"{output}_{metric}"


def _counter(
    value: tf.Tensor, aggregation: tf.VariableAggregation
) -> tf.Variable:
    return tf.Variable(
        value,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=aggregation,
    )

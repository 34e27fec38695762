"""A network learns from a larger one that was fine-tuned on the same task.

The logits are compared at a temperature (Hinton et al. 2015, arXiv 1503.02531)
and hidden states by their mean squared error (Sun et al. 2019, arXiv
1908.09355). If these have another size, a projection of the network's hidden
states is learned too (Jiao et al. 2020, arXiv 1909.10351); it is not part of
the result.
"""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.config import DistillationConfig, parse_layer_map
from keras_bert.finetuning.folder import (
    finetuned_checkpoint,
    load_network,
    read_kind,
)
from keras_bert.kinds.kind import Kind
from keras_bert.models.rewired import with_hidden_states
from keras_bert.training.losses import soft_squared_error
from keras_bert.training.objectives import Distillation, Objective

Tensors = Mapping[str, tf.Tensor]


def check_distillation(
    teacher: str | Path | None,
    kind: Kind,
    bert_config: BertConfig,
    config: DistillationConfig,
) -> None:
    """Raises InputError if a teacher does not fit, or if there is none."""
    layers = parse_layer_map(config.hidden_layer_map)
    if not teacher:
        for name in DistillationConfig.__annotations__:
            if getattr(config, name) != getattr(DistillationConfig, name):
                raise InputError(
                    f"{name} needs a teacher; give a fine-tuned model."
                )
        return
    checkpoint = finetuned_checkpoint(teacher)
    teacher_kind, teacher_config = read_kind(checkpoint)
    teacher_config.check_max_seq_length(kind.spec.settings.max_seq_length)
    teacher_tokenizer, tokenizer = teacher_kind.tokenizer, kind.tokenizer
    teacher_windows, windows = (
        getattr(x.spec.settings, "window_pooling", None)
        for x in (teacher_kind, kind)
    )
    for name, teacher_value, value in (
        ("kind", teacher_kind.name, kind.name),
        ("labels", teacher_kind.spec.labels, kind.spec.labels),
        ("text_fields", teacher_kind.spec.text_fields, kind.spec.text_fields),
        ("tokenizer settings", teacher_tokenizer.settings, tokenizer.settings),
        ("window_pooling", teacher_windows, windows),
    ):
        if teacher_value != value:
            raise InputError(
                f"The teacher {checkpoint.folder} has the {name} "
                f"{teacher_value!r}, but the task has {value!r}; give a model "
                "of this task."
            )
    if teacher_tokenizer.vocab != tokenizer.vocab:
        raise InputError(
            f"The teacher {checkpoint.folder} has a different vocabulary from "
            "the network; start from random weights with the teacher's "
            "vocab.txt, or from a checkpoint that has this vocabulary."
        )
    for which, network, numbers in (
        ("network", bert_config, layers.keys()),
        ("teacher", teacher_config, layers.values()),
    ):
        if max(numbers, default=0) > network.num_hidden_layers:
            raise InputError(
                f"hidden_layer_map names layer {max(numbers)} of the {which}, "
                f"which has {network.num_hidden_layers} layers."
            )


def distill(
    model: keras.Model,
    teacher: str | Path,
    kind: Kind,
    config: DistillationConfig,
) -> Distillation:
    """Makes the network that a checked teacher teaches; it shares weights.

    Each trained output, such as `logits`, gets a second one, `soft_logits`,
    whose labels are the outputs of the teacher; a layer i that learns hidden
    states gets the output `hidden_i`. The labels have the weights of the task's
    labels; hidden states have the weight 1 at every token.
    """
    checkpoint = finetuned_checkpoint(teacher)
    teacher_kind, teacher_config = read_kind(checkpoint)
    teacher_model = load_network(teacher_kind, teacher_config, checkpoint)
    _check_outputs(model, teacher_model, kind)
    layers = parse_layer_map(config.hidden_layer_map)
    network = model
    if layers:
        network = with_hidden_states(model, layers)
        teacher_model = with_hidden_states(teacher_model, set(layers.values()))
    hidden = {f"hidden_{i}": f"hidden_{j}" for i, j in layers.items()}
    soft = {f"soft_{name}": name for name in kind.objectives}
    learned = {**soft, **hidden}
    outputs = dict(network.output)
    for name, like in hidden.items():
        size = teacher_model.output[like].shape[-1]
        if outputs[name].shape[-1] != size:
            project = keras.layers.Dense(size, name=f"{name}_projection")
            outputs[name] = project(outputs[name])
    for name, like in soft.items():
        outputs[name] = outputs[like]
    network = keras.Model(network.input, outputs, name=model.name)
    teacher_model = keras.Model(
        teacher_model.input,
        {name: teacher_model.output[name] for name in learned.values()},
    )

    def labels(features: Tensors) -> Tensors:
        outputs = teacher_model(features, training=False)
        return {name: outputs[like] for name, like in learned.items()}

    def weights(features: Tensors, weights: Tensors) -> Tensors:
        is_token = tf.cast(features["input_mask"] > 0, tf.float32)
        return {name: weights[like] for name, like in soft.items()} | {
            name: is_token * _of_rows(weights, is_token) for name in hidden
        }

    weight = config.distillation_weight
    objectives = {
        name: dataclasses.replace(objective, weight=1 - weight)
        for name, objective in kind.training_objectives.items()
    }
    for name, like in soft.items():
        loss = functools.partial(
            kind.objectives[like].soft_loss,
            temperature=config.distillation_temperature,
        )
        objectives[name] = Objective(loss, weight=weight)
    for name in hidden:
        objectives[name] = Objective(soft_squared_error, weight=weight)
    return Distillation(network, objectives, labels, weights)


def _check_outputs(
    model: keras.Model, teacher_model: keras.Model, kind: Kind
) -> None:
    for name in kind.objectives:
        output, expected = teacher_model.output.get(name), model.output[name]
        if output is None:
            raise InputError(
                f"The teacher has no output {name}, which the network has; "
                "give a teacher with the same settings of the kind."
            )
        if output.shape != expected.shape:
            raise InputError(
                f"The {name} of the teacher have the shape {output.shape}, but "
                f"the network has {expected.shape}; give a teacher with this "
                "shape."
            )


def _of_rows(weights: Tensors, like: tf.Tensor) -> tf.Tensor:
    """Returns 1 for a row with a label, and 0 for one that fills up a batch.

    Its shape is [B, 1, ...], with as many axes as `like`.
    """
    is_row = [
        tf.reduce_any(tf.reshape(w, [tf.shape(w)[0], -1]) > 0, axis=1)
        for w in weights.values()
    ]
    is_row = tf.cast(tf.reduce_any(tf.stack(is_row), axis=0), tf.float32)
    return tf.reshape(is_row, [-1] + [1] * (len(like.shape) - 1))

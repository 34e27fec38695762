"""A network learns from a larger one that was fine-tuned on the same task.

The logits are compared at a temperature (Hinton et al. 2015, arXiv 1503.02531)
and hidden states by their mean squared error (Sun et al. 2019, arXiv
1908.09355). If these have another size, a projection of the network's hidden
states is learned too (Jiao et al. 2020, arXiv 1909.10351); it is not part of
the result.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.finetuning.config import DistillationConfig, parse_layer_map
from keras_bert.finetuning.folder import (
    finetuned_folder,
    read_kind,
    read_model,
)
from keras_bert.kinds.kind import Kind
from keras_bert.models.hidden_states import with_hidden_states
from keras_bert.training.losses import soft_squared_error
from keras_bert.training.objectives import Objective, Teaching

_SOFT = "soft_"


def distill(
    teacher: str | Path, kind: Kind, config: DistillationConfig
) -> Callable[[keras.Model], Teaching]:
    """Returns the `teach` of `train`, for a checked teacher.

    Each trained output, such as `logits`, gets a second one, `soft_logits`,
    whose labels are the outputs of the teacher; a layer i that learns hidden
    states gets the output `hidden_i`. The labels weigh what those of the task
    weigh; hidden states have the weight 1 at every token.
    """
    return functools.partial(
        _teach,
        teacher=teacher,
        kind=kind,
        config=config,
        layers=parse_layer_map(config.hidden_layer_map),
    )


def check_distillation(
    teacher: str | Path | None, kind: Kind, config: DistillationConfig
) -> None:
    """Raises InputError if a teacher does not fit, or if there is none."""
    if not teacher:
        if config.hidden_layer_map:
            raise InputError(
                "hidden_layer_map needs a teacher; give a fine-tuned model."
            )
        return
    folder = finetuned_folder(teacher)
    its_kind, its_config = read_kind(teacher)
    its_config.check_max_seq_length(kind.spec.settings.max_seq_length)
    for name, its_value, value in (
        ("kind", its_kind.name, kind.name),
        ("labels", its_kind.spec.labels, kind.spec.labels),
        ("text_fields", its_kind.spec.text_fields, kind.spec.text_fields),
    ):
        if its_value != value:
            raise InputError(
                f"The teacher {folder} has the {name} {its_value!r}, but the "
                f"task has {value!r}; give a model of this task."
            )
    its_tokenizer, tokenizer = its_kind.tokenizer, kind.tokenizer
    if its_tokenizer.vocab != tokenizer.vocab:
        raise InputError(
            f"The teacher {folder} has another vocabulary than the network; "
            "give vocab_file the vocab.txt of the teacher."
        )
    if its_tokenizer.settings != tokenizer.settings:
        raise InputError(
            f"The tokenizer of the teacher {folder} has the settings "
            f"{its_tokenizer.settings}, but that of the network has "
            f"{tokenizer.settings}; they must be the same."
        )


def _teach(
    model: keras.Model,
    *,
    teacher: str | Path,
    kind: Kind,
    config: DistillationConfig,
    layers: Mapping[int, int],
) -> Teaching:
    large, *_ = read_model(finetuned_folder(teacher))
    _check_networks(model, large, kind.objectives)
    _check_layers(model, large, layers)
    network, large = (
        with_hidden_states(m, chosen) if layers else m
        for m, chosen in ((model, layers), (large, set(layers.values())))
    )
    hidden = {f"hidden_{i}": f"hidden_{j}" for i, j in layers.items()}
    projected = {
        name: _project(name, network.output[name], large.output[of_teacher])
        for name, of_teacher in hidden.items()
    }
    soft = {f"{_SOFT}{name}": name for name in kind.objectives}
    network = keras.Model(
        network.input,
        {
            **network.output,
            **projected,
            **{name: network.output[like] for name, like in soft.items()},
        },
        name=model.name,
    )
    weight = config.distillation_weight
    learned = {**soft, **hidden}
    large = keras.Model(
        large.input, {name: large.output[name] for name in learned.values()}
    )

    def labels(features):
        outputs = large(features, training=False)
        return {name: outputs[like] for name, like in learned.items()}

    def weights(features, weights):
        is_token = tf.cast(features["input_mask"] > 0, tf.float32)
        return {name: weights[like] for name, like in soft.items()} | {
            name: is_token * _of_rows(weights, is_token) for name in hidden
        }

    return Teaching(
        network,
        {
            name: dataclasses.replace(objective, weight=1 - weight)
            for name, objective in kind.training_objectives.items()
        }
        | {
            name: Objective(
                functools.partial(
                    kind.objectives[like].soft_loss,
                    temperature=config.distillation_temperature,
                ),
                weight=weight,
            )
            for name, like in soft.items()
        }
        | {
            name: Objective(soft_squared_error, weight=weight)
            for name in hidden
        },
        labels,
        weights,
    )


def _project(name, hidden, like):
    size = like.shape[-1]
    if hidden.shape[-1] == size:
        return hidden
    return keras.layers.Dense(size, name=f"{name}_projection")(hidden)


def _of_rows(weights, like):
    """Returns 1 for a row with a label, and 0 for one that fills up a batch.

    Its shape is [B, 1, ...], with as many axes as `like`.
    """
    is_row = [
        tf.reduce_any(tf.reshape(w, [tf.shape(w)[0], -1]) > 0, axis=1)
        for w in weights.values()
    ]
    is_row = tf.cast(tf.reduce_any(tf.stack(is_row), axis=0), tf.float32)
    return tf.reshape(is_row, [-1] + [1] * (len(like.shape) - 1))


def _check_networks(model, large, names):
    ranks, its_ranks = (
        {name: len(x.shape) for name, x in m.input.items()}
        for m in (model, large)
    )
    if ranks != its_ranks:
        raise InputError(
            "The teacher takes other inputs than the network; give both the "
            "same window_pooling."
        )
    for name in names:
        if name not in large.output:
            raise InputError(
                f"The teacher has no output {name}, which the network has; "
                "give a teacher with the same settings of the kind."
            )
        shape, its_shape = (m.output[name].shape for m in (model, large))
        if shape != its_shape:
            raise InputError(
                f"The {name} of the teacher have the shape {its_shape}, but "
                f"those of the network {shape}; give a teacher with the same."
            )


def _check_layers(model, large, layers):
    for which, network, numbers in (
        ("network", model, layers.keys()),
        ("teacher", large, layers.values()),
    ):
        num_layers = _num_layers(network)
        if numbers and max(numbers) > num_layers:
            raise InputError(
                f"hidden_layer_map names layer {max(numbers)} of the "
                f"{which}, which has {num_layers} layers."
            )


def _num_layers(model):
    paths = {w.path.split("/")[0] for w in model.weights}
    return sum(path.startswith("layer_") for path in paths)

"""A network and a fine-tuned teacher -> a network that learns from the teacher.

The logits are compared at a temperature (Hinton et al. 2015, arXiv 1503.02531)
and hidden states by their mean squared error (Sun et al. 2019, arXiv
1908.09355). If the widths differ, a projection of the network's hidden states
is learned too (Jiao et al. 2020, arXiv 1909.10351); the projection is not part
of the result. From the teacher's attention, the network learns the scores (Jiao
et al.), or the relations of queries, keys and values. For relations, the two
networks may differ in their width and number of heads (Wang et al. 2021, arXiv
2012.15828).
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.finetuning.config import DistillationConfig
from keras_bert.finetuning.folder import load_network, read_kind
from keras_bert.kinds.kind import Kind
from keras_bert.models.rewired import (
    with_attention_relations,
    with_attention_scores,
    with_hidden_states,
)
from keras_bert.training.losses import (
    attention_error,
    relation_divergence,
    soft_squared_error,
)
from keras_bert.training.objectives import Distillation, Objective

Tensors = Mapping[str, tf.Tensor]
# Part -> the prefix of its outputs, the function that adds them to a network,
# and their loss.
_PARTS: dict[str, tuple[str, Callable[..., keras.Model], Callable]] = {
    "hidden": ("hidden", with_hidden_states, soft_squared_error),
    "relation": ("relations", with_attention_relations, relation_divergence),
    "score": ("scores", with_attention_scores, attention_error),
}


def check_distillation(
    teacher: str | Path | None,
    kind: Kind,
    bert_config: BertConfig,
    config: DistillationConfig,
) -> None:
    """Raises InputError if the teacher does not fit the task and the network.

    Without a teacher, raises InputError if a setting needs a teacher.
    """
    if not teacher:
        for name in DistillationConfig.__annotations__:
            if getattr(config, name) != getattr(DistillationConfig, name):
                raise InputError(
                    f"{name} needs a teacher; give a fine-tuned model as the "
                    "teacher."
                )
        return
    teacher_kind, teacher_config, checkpoint = read_kind(teacher)
    teacher_config.check_max_seq_length(kind.spec.settings.max_seq_length)
    expected = _common(kind)
    for name, value in _common(teacher_kind).items():
        if value != expected[name]:
            raise InputError(
                f"The teacher {checkpoint.folder} has the {name} {value!r}, "
                f"but the task has {expected[name]!r}; give a model of this "
                "task."
            )
    missing = set(kind.tokenizer.vocab) - set(teacher_kind.tokenizer.vocab)
    if missing:
        raise InputError(
            f"The vocabulary of the teacher {checkpoint.folder} lacks "
            f"{len(missing)} pieces of the network's vocabulary, such as "
            f"{min(missing)!r}. Start the network from random weights with the "
            "teacher's vocabulary, or from a checkpoint that has the teacher's "
            "vocabulary or a part of that vocabulary (see trim-vocab)."
        )
    _check_layers(bert_config, teacher_config, config)


def _common(kind: Kind) -> dict[str, Any]:
    """Returns the values that the teacher and the task must share, by name."""
    settings, tokens = kind.spec.settings, kind.tokenizer.settings
    # The ids of tokens follow from the vocabulary.
    added = tuple(x._replace(id=0) for x in tokens.added_tokens)
    return {
        "kind": kind.name,
        "labels": kind.spec.labels,
        "text_fields": kind.spec.text_fields,
        "tokenizer settings": dataclasses.replace(tokens, added_tokens=added),
        "window_pooling": getattr(settings, "window_pooling", None),
        "prompt": settings.default_prompt,
    }


def _check_layers(
    bert_config: BertConfig,
    teacher_config: BertConfig,
    config: DistillationConfig,
) -> None:
    for which, network, layers_of in (
        ("network", bert_config, dict.keys),
        ("teacher", teacher_config, dict.values),
    ):
        for part in _PARTS:
            last = max(layers_of(config.layer_map(part)), default=0)
            if last > network.num_hidden_layers:
                raise InputError(
                    f"{part}_layer_map names layer {last} of the {which}, "
                    f"which has {network.num_hidden_layers} layers."
                )
        remainder = network.hidden_size % config.num_relation_heads
        if config.relation_layer_map and remainder:
            raise InputError(
                f"num_relation_heads is {config.num_relation_heads}, but the "
                f"width of the {which}, {network.hidden_size}, is not a "
                "multiple of it."
            )
    heads = bert_config.num_attention_heads
    its_heads = teacher_config.num_attention_heads
    if config.score_layer_map and heads != its_heads:
        raise InputError(
            "score_layer_map needs the same number of heads in both networks, "
            f"but the network has {heads} and the teacher {its_heads}; use "
            "relation_layer_map."
        )
    for layer, its_layer in config.layer_map("score").items():
        if _reach(bert_config, layer) != _reach(teacher_config, its_layer):
            raise InputError(
                f"score_layer_map is {config.score_layer_map!r}, but layer "
                f"{layer} of the network and layer {its_layer} of the teacher "
                "attend to different tokens; choose other layers, or use "
                "relation_layer_map."
            )


def _reach(config: BertConfig, layer: int) -> tuple[str, int | None]:
    """Returns the direction and the distance of a layer's attention."""
    is_local = (layer - 1) % config.global_attn_every_n_layers > 0
    return config.directionality, config.local_attention if is_local else None


def distill(
    model: keras.Model,
    teacher: str | Path,
    kind: Kind,
    config: DistillationConfig,
) -> Distillation:
    """Returns a network that learns from a checked teacher, and how it learns.

    The network shares the weights of `model`. For each trained output, such as
    `logits`, it has a second output, `soft_logits`, whose labels are the
    teacher's outputs. A layer i that learns hidden states gets the output
    `hidden_i`; for relations and scores, the outputs are `relations_i` and
    `scores_i`. The soft labels have the weights of the task's labels; the
    labels of layers have the weight 1 at every token. If the teacher has a
    larger vocabulary, it reads the same tokens under its own ids.
    """
    teacher_kind, teacher_config, checkpoint = read_kind(teacher)
    teacher_model = load_network(teacher_kind, teacher_config, checkpoint)
    _check_outputs(model, teacher_model, kind)
    weight = config.distillation_weight
    objectives = {
        name: dataclasses.replace(objective, weight=1 - weight)
        for name, objective in kind.training_objectives.items()
    }
    soft = {f"soft_{name}": name for name in kind.objectives}
    for name, like in soft.items():
        soft_loss = functools.partial(
            kind.objectives[like].soft_loss,
            temperature=config.distillation_temperature,
        )
        objectives[name] = Objective(
            soft_loss, weight=weight * config.output_weight
        )
    network = model
    of_layers: dict[str, str] = {}  # our output -> the teacher's output
    for part, (prefix, add, loss) in _PARTS.items():
        layers = config.layer_map(part)
        if not layers:
            continue
        options = (config.num_relation_heads,) if part == "relation" else ()
        network = add(network, layers, *options)
        teacher_model = add(teacher_model, {*layers.values()}, *options)
        factor = weight * getattr(config, f"{part}_weight")
        for layer, its_layer in layers.items():
            name = f"{prefix}_{layer}"
            of_layers[name] = f"{prefix}_{its_layer}"
            objectives[name] = Objective(loss, weight=factor)
    learned = {**soft, **of_layers}
    outputs = dict(network.output)
    for name, like in of_layers.items():
        size = teacher_model.output[like].shape[-1]
        if name.startswith("hidden") and outputs[name].shape[-1] != size:
            project = keras.layers.Dense(size, name=f"{name}_projection")
            outputs[name] = project(outputs[name])
    for name, like in soft.items():
        outputs[name] = outputs[like]
    network = keras.Model(network.input, outputs, name=model.name)
    teacher_model = keras.Model(
        teacher_model.input,
        {name: teacher_model.output[name] for name in learned.values()},
    )

    vocab, its_vocab = kind.tokenizer.vocab, teacher_kind.tokenizer.vocab
    its_ids = {x: i for i, x in enumerate(its_vocab)}
    ids_of_teacher = tf.constant([its_ids[x] for x in vocab], tf.int32)

    def labels(features: Tensors) -> Tensors:
        if vocab != its_vocab:
            ids = tf.gather(ids_of_teacher, features["input_ids"])
            features = {**features, "input_ids": ids}
        outputs = teacher_model(features, training=False)
        return {name: outputs[like] for name, like in learned.items()}

    def weights(features: Tensors, weights: Tensors) -> Tensors:
        is_token = tf.cast(features["input_mask"] > 0, tf.float32)
        return {name: weights[like] for name, like in soft.items()} | {
            name: is_token * _of_rows(weights, is_token) for name in of_layers
        }

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
                f"The teacher's {name} have the shape {output.shape}, but the "
                f"network's {name} have {expected.shape}; give a teacher whose "
                f"{name} have this shape."
            )


def _of_rows(weights: Tensors, like: tf.Tensor) -> tf.Tensor:
    """Returns 1 for each row with a weight above 0, and 0 for all other rows.

    On a TPU, rows of weight 0 fill up the last batch of an epoch. The result
    has the shape [B, 1, ...], with as many axes as `like`.
    """
    is_row = [
        tf.reduce_any(tf.reshape(w, [tf.shape(w)[0], -1]) > 0, axis=1)
        for w in weights.values()
    ]
    is_row = tf.cast(tf.reduce_any(tf.stack(is_row), axis=0), tf.float32)
    return tf.reshape(is_row, [-1] + [1] * (len(like.shape) - 1))

"""A Keras network that any program trained -> a checkpoint folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert.checkpoints.heads import CRF, POOLERS, heads_of, without_heads
from keras_bert.checkpoints.keras_files import arrays_of, config_of_network
from keras_bert.checkpoints.resize.checkpoint import write_checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.weight_paths import weights_by_path
from keras_bert.io.whole_files import check_is_new
from keras_bert.models.encoder import build_encoder

# Parts of a network that do not show the kind of its task.
_NO_KIND = POOLERS | {"masked_lm", "next_sentence", CRF.path}
# The outputs of the same network may differ by the rounding of bfloat16. The
# outputs of another network differ by more.
_TOLERANCE = 0.05


def save_pretrained(
    network: keras.Model,
    tokenizer: Any,
    output_dir: str | Path,
    *,
    text_fields: str | Sequence[str] = (),
    labels: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    kind: str | None = None,
) -> None:
    """Writes a network of `keras_bert.models` as a new checkpoint folder.

    The config is derived from the network's layers. With `text_fields`, the
    folder also says what the network is for, and `load_finetuned` loads it to
    answer: a network of `build_classifier` chooses one label for each text.

    Example:
        >>> config = keras_bert.BertConfig.from_json(
        ...     "pretrained/bert_config.json"
        ... )
        >>> network = keras_bert.models.build_classifier(config, num_labels=2)
        >>> keras_bert.load_checkpoint(network, "pretrained")
        >>> keras_bert.save_pretrained(
        ...     network,
        ...     keras_bert.load_tokenizer("pretrained"),
        ...     "saved",
        ...     text_fields="sentence",
        ...     labels=["bad", "good"],
        ...     settings={"max_seq_length": 16},
        ... )
        >>> model = keras_bert.load_finetuned("saved")
        >>> (answer,) = model.predict([{"sentence": "a good film"}])
        >>> sorted(answer["scores"])
        ['bad', 'good']

    Args:
        network: A network that a `build_*` function returned or that Keras
            loaded.
        tokenizer: The tokenizer of the texts in training.
        output_dir: A new folder; it appears when it is complete.
        text_fields: The names of the fields that the network reads, in order:
            one, or two for pairs.
        labels: The names of the labels, in the order of their ids.
        settings: Settings of the kind of task, such as `max_seq_length`. The
            default of `max_seq_length` is the kind's own default or the number
            of the network's positions, whichever is smaller.
        kind: The name of the kind of task, such as "reranker" for a network
            of `build_regressor`; by default, the first kind with the output
            layer of the network.

    Raises:
        InputError: If `output_dir` exists, the network is not one of
            `keras_bert.models`, the size of the tokenizer's vocabulary does not
            fit the network, or the task does not fit the network.
    """
    if not isinstance(network, keras.Model):
        raise InputError(
            f"The network is a {type(network).__name__}, but a keras.Model was "
            "expected; a FinetunedModel has the method save."
        )
    if not hasattr(tokenizer, "sidecars"):
        raise InputError(
            f"The tokenizer is {tokenizer!r:.80}; give a tokenizer, such as "
            "keras_bert.load_tokenizer(vocab_file=path)."
        )
    text_fields = [text_fields] if isinstance(text_fields, str) else text_fields
    if (labels or settings or kind) and not text_fields:
        raise InputError(
            "Labels, settings or a kind were given without text_fields; name "
            "the fields that the network reads, such as text_fields='text'."
        )
    check_is_new(output_dir)
    config = config_of_network(network)
    config.check_vocab_size(tokenizer.vocab_size, "The tokenizer")
    arrays = arrays_of(network)
    texts = {}
    if text_fields:
        # The kinds import TensorFlow, which a plain checkpoint does not need.
        from keras_bert.finetuning.folder import with_defaults
        from keras_bert.kinds.fields import check_text_list
        from keras_bert.kinds.kind import TaskSpec
        from keras_bert.kinds.registry import get_kind, known_kinds
        from keras_bert.kinds.spec import (
            build_kind,
            make_settings,
            spec_to_json,
        )

        of_kind = get_kind(kind or _kind_of(network, known_kinds()))
        values = with_defaults(settings or {}, of_kind, None, config)
        spec = TaskSpec(
            of_kind.name,
            tuple(text_fields),
            make_settings(of_kind.name, values),
            check_text_list(labels, "labels"),
            tuple(of_kind.metrics)[:1],
        )
        built = build_kind(spec, tokenizer, config).build_model(config)
        _check_weights(arrays, arrays_of(built))
        _check_outputs(network, built, config, spec)
        texts["task.json"] = spec_to_json(spec)
    else:
        expected = arrays_of(build_encoder(config))
        _check_weights(
            *(without_heads(x, heads_of(x)) for x in (arrays, expected))
        )
    write_checkpoint(output_dir, (arrays, config, tokenizer, texts))


def _kind_of(network: keras.Model, known_kinds: Mapping[str, Any]) -> str:
    """Returns the name of the kind whose heads are those of a network."""
    heads = heads_of(arrays_of(network)) - _NO_KIND
    outputs = network.output if isinstance(network.output, dict) else {}
    kinds = []
    for kind in known_kinds.values():
        own = {head.path for head in kind.hub.heads} - {CRF.path}
        # An embedder needs no output layer.
        if own == heads if own else "embeddings" in outputs:
            kinds.append(kind)
    if not kinds:
        raise InputError(
            "The network has "
            f"{', '.join(sorted(heads)) or 'no output layer'}, which fits no "
            "known kind of task; leave out text_fields, or import the file "
            "that defines your kind."
        )
    # A kind of the user's own may be a subclass of the right kind.
    return min(kinds, key=lambda kind: len(kind.__mro__)).name


def _check_weights(
    arrays: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    """Raises InputError unless a network has exactly the expected weights."""
    given, wanted = (
        {path: array.shape for path, array in x.items()}
        for x in (arrays, expected)
    )
    if wrong := sorted(dict(given.items() ^ wanted.items())):
        raise InputError(
            f"The weight {wrong[0]} of the network has the shape "
            f"{given.get(wrong[0])}, but {wanted.get(wrong[0])} is expected "
            "(None means that there is no such weight); check labels and "
            "settings, and merge adapters."
        )


def _check_outputs(
    network: keras.Model, built: keras.Model, config: BertConfig, spec: Any
) -> None:
    """Raises InputError unless both networks compute the same outputs."""
    weights = weights_by_path(network)
    for weight in built.weights:
        weight.assign(weights[weight.path])
    inputs = {
        name: _probe(name, len(x.shape), config)
        for name, x in built.input.items()
    }
    given = network.input if isinstance(network.input, dict) else {"": None}
    differs = not set(given) <= set(inputs)
    if not differs:
        outputs = network({name: inputs[name] for name in given})
        for name, expected in built(inputs).items():
            x, y = (
                np.asarray(keras.ops.convert_to_numpy(z), "float32")
                for z in (outputs[name], expected)
            )
            differs |= x.shape != y.shape or not np.allclose(
                x, y, rtol=0, atol=_TOLERANCE * np.abs(y).max()
            )
    if differs:
        raise InputError(
            "The outputs of the network do not fit a model of the kind "
            f"{spec.kind} with {spec.settings}; give the settings of the "
            "network, or leave out text_fields."
        )


def _probe(name: str, rank: int, config: BertConfig) -> np.ndarray:
    """Returns a test input of two rows or examples, with padding."""
    if name in ("cls_positions", "num_windows"):
        # Each row is one sequence, and all rows are windows of one text.
        return np.full((2, *[2] * (rank - 2), 1), 2 * (name[0] == "n"), "int32")
    length = min(7, config.max_position_embeddings)
    row = np.arange(length, dtype="int32")
    values = {
        "input_ids": (row * 5 + 3) % config.vocab_size,
        "input_mask": np.minimum(row[::-1], 1),
        "position_ids": row,
    }.get(name, row * 0)
    rows = np.broadcast_to(values, (2, *[2] * (rank - 2), length)).copy()
    if name == "input_ids":
        rows[-1] = rows[-1][..., ::-1]
    return rows

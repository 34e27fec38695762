"""A checkpoint in any format -> the weights of a model."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from absl import logging

from keras_bert.checkpoints.checkpoint import AnyCheckpoint, Checkpoint
from keras_bert.checkpoints.heads import (
    POOLERS,
    heads_of,
    is_left_out,
    with_prediction_heads,
    without_heads,
)
from keras_bert.checkpoints.huggingface import has_untied_decoder
from keras_bert.checkpoints.keras_files import config_of_network
from keras_bert.errors import InputError
from keras_bert.io.weight_paths import weights_by_path

if TYPE_CHECKING:
    import keras

_ASK = "does the model config belong to this checkpoint?"
_ASK_LABELS = (
    "if the checkpoint is for other labels, give new_head (--new_head) to "
    "train a new output layer."
)


def load_checkpoint(
    model: "keras.Model", checkpoint: AnyCheckpoint, *, new_head: bool = False
) -> None:
    """Loads weights into an encoder or a model with any head.

    Example:
        >>> config = keras_bert.BertConfig.from_json(
        ...     "pretrained/bert_config.json"
        ... )
        >>> encoder = keras_bert.models.build_encoder(config)
        >>> keras_bert.load_checkpoint(encoder, "pretrained")

    Args:
        model: An encoder, a pre-training model or a fine-tuned model.
        checkpoint: The path of a checkpoint:

            - An output_dir of `pretrain` or `finetune`: the best checkpoint in
              it is loaded, or else the last. Adapters are merged into the
              weights of their base model.
            - One of the checkpoints in an output_dir.
            - A folder from Hugging Face with `model.safetensors` or
              `pytorch_model.bin`, in one file or in shards, or with
              `tf_model.h5`.
            - A `.safetensors`, `.bin` or `.h5` file, or the `.keras` file of a
              network from `keras_bert.models`.
            - A released TF1 checkpoint or an encoder from the Model Garden, as
              a folder or a prefix (`bert_model.ckpt`).

            Any of these can be a URL, such as `s3://bucket/run` (extra
            `storage`). `hf://owner/name` is a Hub model (extra `hub`).
        new_head: Whether to load only the encoder and its pooler; all other
            parts keep their random weights. Set `new_head` if the checkpoint
            has an output layer for other labels.

    Raises:
        FileNotFoundError: If there is no checkpoint.
        InputError: If the checkpoint lacks a weight of the model, has a weight
            that the model lacks, or has a weight whose shape is different in
            the model. However, the checkpoint may lack a whole head, or have a
            head that the model lacks; the log warns if a head of the model
            keeps its random weights.
    """
    file, absent = _load(model, checkpoint, new_head)
    if absent:
        logging.warning(
            "%s has no %s, so these weights stay random; train the model "
            "before you use its outputs.",
            file,
            " and no ".join(sorted(absent)),
        )


def load_to_train(
    model: "keras.Model", checkpoint: AnyCheckpoint, *, new_head: bool = False
) -> None:
    """Like `load_checkpoint`, but without a warning about absent heads."""
    _, absent = _load(model, checkpoint, new_head)
    if absent:
        heads = " and ".join(sorted(absent))
        logging.info("Training starts with random weights in the %s.", heads)


def load_whole(model: "keras.Model", checkpoint: AnyCheckpoint) -> None:
    """Like `load_checkpoint`, but no head may be absent."""
    file, absent = _load(model, checkpoint)
    if absent:
        raise InputError(
            f"{file} has no weights for {' and '.join(sorted(absent))}, so the "
            "model cannot predict; train it first, or give another model."
        )


def _load(
    model: "keras.Model", checkpoint: AnyCheckpoint, new_head: bool = False
) -> tuple[Path, set[str]]:
    """Loads weights; returns the file and the heads that the file lacks."""
    if not hasattr(model, "weights"):
        raise InputError(
            f"The model is {model!r:.80}, but must be a Keras model; give the "
            "model first and the path second."
        )
    checkpoint = Checkpoint.of(checkpoint)
    file, weights = checkpoint.file, weights_by_path(model)
    arrays = with_prediction_heads(checkpoint.arrays, weights)
    if new_head:
        arrays = without_heads(arrays, heads_of(arrays) - POOLERS)
    if has_untied_decoder(arrays) and "masked_lm" in heads_of(weights):
        raise InputError(
            f"The masked-LM head of {file} has a decoder that differs from the "
            "word embeddings and the output bias; load only the encoder."
        )
    missing = weights.keys() - arrays.keys()
    unused = arrays.keys() - weights.keys()
    absent = heads_of(missing) - heads_of(arrays)
    left_over = heads_of(unused) - heads_of(weights)
    for paths, heads, what in (
        (missing, absent, "does not have the model's weight"),
        (unused, left_over, "has a weight that the model does not have:"),
    ):
        wrong = sorted(p for p in paths if p.split("/")[0] not in heads)
        if wrong:
            raise InputError(
                f"{file} {what} {wrong[0]} ({len(wrong)} in all); {_ASK}"
            )
    # The encoder comes first: an error there shows that the config is wrong.
    loaded = sorted(weights.keys() & arrays.keys())
    loaded.sort(key=lambda path: len(heads_of([path])))
    for path in loaded:
        if tuple(weights[path].shape) != arrays[path].shape:
            is_output = heads_of([path]) - POOLERS
            raise InputError(
                f"{path} has shape {arrays[path].shape} in {file}, but shape "
                f"{tuple(weights[path].shape)} in the model; "
                f"{_ASK_LABELS if is_output else _ASK}"
            )
    _warn_of_other_config(model, checkpoint)
    for path in loaded:
        weights[path].assign(arrays[path].read())
    # Only our own format can store some heads. Their absence is not reported.
    return file, {h for h in absent if not is_left_out(h)}


def _warn_of_other_config(model: "keras.Model", checkpoint: Checkpoint) -> None:
    # These errors say that there is nothing to compare: the network is not from
    # keras_bert.models, or the weights have no config.
    with contextlib.suppress(FileNotFoundError, InputError):
        config = config_of_network(model)
        if difference := config.difference(checkpoint.config):
            logging.warning(
                "The network differs from the config beside %s (%s), so its "
                "outputs will differ from those of the original model.",
                checkpoint.file,
                difference,
            )

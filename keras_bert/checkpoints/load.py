"""A checkpoint in any format -> weights of a model."""

from __future__ import annotations

from pathlib import Path

import keras

from keras_bert.checkpoints.adapters import has_adapters, merge_into_base
from keras_bert.checkpoints.any_format import read_file
from keras_bert.checkpoints.assign import assign_weights
from keras_bert.checkpoints.dense_modules import read_dense_modules
from keras_bert.checkpoints.find import find_weights
from keras_bert.checkpoints.heads import heads_of
from keras_bert.checkpoints.huggingface import UNTIED_DECODER
from keras_bert.checkpoints.stored import StoredArray
from keras_bert.errors import InputError


def load_checkpoint(model: keras.Model, checkpoint: str | Path) -> None:
    """Loads weights into an encoder or a model with any head.

    Example:
        >>> config = keras_bert.BertConfig.from_json(
        ...     "pretrained/bert_config.json"
        ... )
        >>> encoder = keras_bert.models.build_encoder(config)
        >>> keras_bert.load_checkpoint(encoder, "pretrained")

    Args:
        model: An encoder, a pre-training model or a fine-tuned model.
        checkpoint: An output_dir of `pretrain` or `finetune`, for its best or
            else its last checkpoint, or one of the checkpoints in it (adapters
            are merged into the weights of their base model); a folder
            from Hugging Face with `model.safetensors` or `pytorch_model.bin`,
            in one file or in shards; a `.safetensors` or `.bin` file; a
            released TF1 checkpoint or an encoder of the Model Garden, as
            folder or prefix (`bert_model.ckpt`); any of these as a URL such as
            `s3://bucket/run` (extra `storage`); or `hf://owner/name` (extra
            `hub`).

    Raises:
        FileNotFoundError: If there is no checkpoint.
        InputError: If a weight is missing, unused or of another shape. Only
            whole heads may be absent, and the log names them.
    """
    file = find_weights(checkpoint)
    arrays = read_weights(file)
    if UNTIED_DECODER in arrays and "masked_lm" in heads_of(
        weight.path for weight in model.weights
    ):
        raise InputError(
            f"The masked-LM head of {file} has a decoder.weight that differs "
            "from the word embeddings (tie_word_embeddings: false), but this "
            "model uses the embeddings themselves; load an encoder instead."
        )
    assign_weights(model, arrays, str(file))


def heads_in(checkpoint: str | Path) -> set[str]:
    """Returns the heads of a checkpoint that `load_checkpoint` can load."""
    arrays = read_weights(find_weights(checkpoint))
    heads = heads_of(arrays)
    return heads - {"masked_lm"} if UNTIED_DECODER in arrays else heads


def read_weights(file: Path) -> dict[str, StoredArray]:
    """Reads a file that `find_weights` found; keys are paths of weights.

    Adapters are merged into the weights of their base model. Dense modules of
    sentence-transformers are weights of the model too.
    """
    arrays = read_file(file)
    if has_adapters(arrays):
        return merge_into_base(arrays, file)
    return arrays | read_dense_modules(file.parent)

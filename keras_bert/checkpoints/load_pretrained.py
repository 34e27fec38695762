"""A checkpoint -> its encoder, config, tokenizer and preprocessor."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from keras_bert.checkpoints.checkpoint import AnyCheckpoint, Checkpoint
from keras_bert.checkpoints.find import SHIPPED
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_tokenizer import find_vocab, load_tokenizer
from keras_bert.config import BertConfig, check_config
from keras_bert.errors import InputError
from keras_bert.models.encoder import build_encoder
from keras_bert.text.without_tensorflow import ListPreprocessor, ListTokenizer

if TYPE_CHECKING:
    from keras_bert.text.packing import BertPreprocessor
    from keras_bert.text.tokenizer import BertTokenizer

_DEFAULT_LENGTH = 128


@dataclasses.dataclass(frozen=True)
class PretrainedModel:
    """An encoder with the preprocessing that it was trained with.

    Example:
        >>> pretrained = keras_bert.load_pretrained(
        ...     "pretrained", max_seq_length=16
        ... )
        >>> pretrained
        PretrainedModel(bert, 2 layers of width 12, 31 word pieces)
        >>> pretrained.tokenizer.vocab_size, pretrained.config.hidden_size
        (31, 12)

    Attributes:
        encoder: The network from `build_encoder`, with the weights.
        preprocessor: A `BertPreprocessor`. If TensorFlow is not installed, a
            `ListPreprocessor` from keras_bert.text.without_tensorflow.
        config: The `BertConfig`.
    """

    encoder: keras.Model
    preprocessor: "BertPreprocessor"
    config: BertConfig

    def __repr__(self) -> str:
        config = self.config
        return (
            f"PretrainedModel({config.family}, {config.num_hidden_layers} "
            f"layers of width {config.hidden_size}, {config.vocab_size:,} "
            "word pieces)"
        )

    @property
    def tokenizer(self) -> "BertTokenizer":
        return self.preprocessor.tokenizer


def load_pretrained(
    checkpoint: AnyCheckpoint,
    *,
    max_seq_length: int | None = None,
    vocab_file: str | Path | None = None,
    do_lower_case: bool | None = None,
) -> PretrainedModel:
    """Loads the encoder of a checkpoint, with its config and tokenizer.

    Example:
        >>> pretrained = keras_bert.load_pretrained(
        ...     "pretrained", max_seq_length=16
        ... )
        >>> features = pretrained.preprocessor(["a good film", "the fox"])
        >>> pretrained.encoder(features)["pooled_output"].shape
        TensorShape([2, 12])

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        max_seq_length: The maximum sequence length, in tokens; longer texts are
            cut. By default, the limit of the checkpoint, but at most 128.
        vocab_file: The vocabulary; by default, the file beside the weights.
        do_lower_case: Whether to lower-case the text. By default, the text is
            treated as in the checkpoint's training.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If the files do not belong together, or if the network has
            fewer positions than `max_seq_length`.
    """
    checkpoint = Checkpoint.of(checkpoint)
    config, tokenizer = load_config_and_tokenizer(
        checkpoint, vocab_file=vocab_file, do_lower_case=do_lower_case
    )
    if max_seq_length is None:
        max_seq_length = checkpoint.longest_sequence(config, _DEFAULT_LENGTH)
    config.check_max_seq_length(max_seq_length)
    encoder = build_encoder(config)
    load_checkpoint(encoder, checkpoint)
    preprocessor: Any
    if isinstance(tokenizer, ListTokenizer):
        preprocessor = ListPreprocessor(tokenizer, max_seq_length)
    else:
        from keras_bert.text.packing import BertPreprocessor

        preprocessor = BertPreprocessor(tokenizer, max_seq_length)
    return PretrainedModel(encoder, preprocessor, config)


def load_config_and_tokenizer(
    checkpoint: AnyCheckpoint | None,
    *,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    do_lower_case: bool | None = None,
) -> tuple[BertConfig, Any]:
    """Returns the config and the tokenizer of a checkpoint.

    A given `bert_config` or `vocab_file` is used instead of the checkpoint's
    own config or vocabulary.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If config and vocabulary do not belong together.
    """
    checkpoint = checkpoint and Checkpoint.of(checkpoint)
    are_of_one_folder = bert_config is None and vocab_file is None
    if bert_config is None:
        if not isinstance(checkpoint, Checkpoint):
            raise InputError(
                "Give a bert_config or a checkpoint, such as "
                f"{SHIPPED[0]}, a model in this package."
            )
        bert_config = checkpoint.config
    check_config(bert_config)
    vocab_file = find_vocab(checkpoint, vocab_file)
    tokenizer = load_tokenizer(
        checkpoint, vocab_file=vocab_file, do_lower_case=do_lower_case
    )
    bert_config.check_vocab_size(
        tokenizer.vocab_size, vocab_file, are_of_one_folder=are_of_one_folder
    )
    return bert_config, tokenizer

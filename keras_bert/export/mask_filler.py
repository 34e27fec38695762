"""A text with [MASK] -> a pre-trained model's guesses for each [MASK]."""

import keras
import tensorflow as tf
from keras import ops

from keras_bert.checkpoints.checkpoint import AnyCheckpoint, Checkpoint
from keras_bert.checkpoints.load import load_whole
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.errors import InputError, check_count
from keras_bert.kinds.fields import check_text
from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.added_tokens import AddedTokens
from keras_bert.text.packing import BertPreprocessor, Packed
from keras_bert.text.tokenizer import BertTokenizer

# A call has at most this many tokens, to limit memory: the model computes a
# number for every word piece at each [MASK], and every token may be a [MASK].
_TOKENS_PER_CALL = 1_024


class MaskFiller:
    """Guesses the word piece for each [MASK], eagerly or in a SavedModel.

    Attributes:
        model: A network with the same inputs as `build_pretraining_model`. Its
            outputs are the `ids` and the `probabilities` of the best pieces.
        tokenizer: The tokenizer; `special_tokens.mask` is its spelling of
            [MASK].
        max_seq_length: The maximum sequence length, in tokens.
    """

    def __init__(
        self,
        model: keras.Model,
        tokenizer: BertTokenizer,
        *,
        max_seq_length: int,
        top_k: int = 5,
    ):
        """Makes a filler from a model that `build_pretraining_model` returned.

        `top_k` is the number of guesses for each [MASK].
        """
        num_pieces = tokenizer.vocab_size
        check_count("top_k", top_k, num_pieces, "the number of word pieces")
        # A checkpoint may have more embeddings than the vocabulary has pieces.
        logits = model.output["masked_lm"][..., :num_pieces]
        probabilities, ids = ops.top_k(ops.softmax(logits), top_k)
        outputs = {"ids": ids, "probabilities": probabilities}
        self.model = keras.Model(model.input, outputs)
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length
        mask = tokenizer.special_tokens.mask
        found = tokenizer.found_in_text(special=True)
        self._masks = AddedTokens(
            [x for x in found if x.content == mask], of_bert=not tokenizer.json
        )

    def fill(self, text: str) -> list[list[tuple[str, float]]]:
        """Returns the guesses for each [MASK] of a text; see `fill_mask`."""
        check_text(text, "The text")
        mask = self.tokenizer.special_tokens.mask
        if mask not in text:
            raise InputError(f"{text!r} has no {mask} to fill.")
        answer = self(tf.constant([text]))
        if answer["truncated"][0]:
            raise InputError(
                f"The text has more than the {self.max_seq_length} tokens "
                "that the model reads; give a shorter text."
            )
        pieces = answer["masks.pieces"][0].numpy()
        probabilities = answer["masks.probabilities"][0].numpy()
        return [
            [(piece.decode(), float(p)) for piece, p in zip(*row, strict=True)]
            for row in zip(pieces, probabilities, strict=True)
        ]

    def __call__(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the guesses for each [MASK] in texts, strings [B].

        The guesses, best first, are `masks.pieces`, strings [B, M, top_k],
        padded with "", and `masks.probabilities`, float32 [B, M, top_k], padded
        with 0. M is the largest number of [MASK] tokens in any of the texts.
        Texts longer than `max_seq_length` are truncated. The result also
        contains the values of `Packed.truncation_info`.
        """
        packed = self._pack(text)
        features = packed.features
        is_mask = features["input_ids"] == self.tokenizer.mask_id
        places = tf.ragged.range(is_mask.row_lengths(), dtype=tf.int64)
        positions = tf.ragged.boolean_mask(tf.cast(places, tf.int32), is_mask)
        outputs = call_in_pieces(
            self.model,
            {**features, "masked_lm_positions": positions.to_tensor()},
            tokens_per_call=_TOKENS_PER_CALL,
        )
        is_found = tf.sequence_mask(positions.row_lengths())[:, :, None]
        vocab = tf.constant(self.tokenizer.vocab)
        pieces = tf.where(is_found, tf.gather(vocab, outputs["ids"]), "")
        probabilities = tf.where(is_found, outputs["probabilities"], 0.0)
        return {
            "masks.pieces": pieces,
            "masks.probabilities": probabilities,
            **packed.truncation_info(),
        }

    def _pack(self, texts: tf.Tensor) -> Packed:
        tokenizer = self.tokenizer
        # The tokenizer would split the string "[MASK]" like any other text.
        ids, *_ = self._masks.tokenize(texts, lambda x: [tokenizer(x)])
        return BertPreprocessor(tokenizer, self.max_seq_length).pack_ids([ids])


def fill_mask(
    model: keras.Model, tokenizer: BertTokenizer, text: str, *, top_k: int = 5
) -> list[list[tuple[str, float]]]:
    """Returns a model's guesses for each "[MASK]" in a text.

    Args:
        model: A model from `build_pretraining_model`.
        tokenizer: The tokenizer of the model. Its `special_tokens.mask` is
            the spelling of [MASK].
        text: A text with at least one [MASK], short enough for the model.
        top_k: The number of guesses for each [MASK].

    Returns:
        For each [MASK], the most probable word pieces, with their
        probabilities.

    Raises:
        InputError: If the text has no [MASK], or too many tokens.

    Example:
        >>> config = keras_bert.BertConfig.from_json(
        ...     "pretrained/bert_config.json"
        ... )
        >>> model = keras_bert.models.build_pretraining_model(config)
        >>> keras_bert.load_checkpoint(model, "pretrained")
        >>> tokenizer = keras_bert.BertTokenizer("pretrained/vocab.txt")
        >>> (guesses,) = keras_bert.export.fill_mask(
        ...     model, tokenizer, "a [MASK] dog", top_k=3
        ... )
        >>> len(guesses)
        3
    """
    length = model.get_layer("embeddings").max_position_embeddings
    filler = MaskFiller(model, tokenizer, max_seq_length=length, top_k=top_k)
    return filler.fill(text)


def load_mask_filler(
    checkpoint: AnyCheckpoint,
    *,
    max_seq_length: int | None = None,
    top_k: int = 5,
) -> MaskFiller:
    """Loads a checkpoint as a `MaskFiller`, which fills each [MASK] of a text.

    Example:
        >>> filler = keras_bert.export.load_mask_filler("pretrained", top_k=3)
        >>> (guesses,) = filler.fill("a [MASK] dog")
        >>> len(guesses)
        3

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        max_seq_length: The maximum sequence length, in tokens; by default, the
            longest sequence that the model can read.
        top_k: The number of guesses for each [MASK].

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If the checkpoint has no masked-LM head.
    """
    loaded = Checkpoint.of(checkpoint)
    bert_config, tokenizer = load_config_and_tokenizer(loaded)
    model = build_pretraining_model(bert_config, next_sentence=False)
    load_whole(model, loaded)
    length = max_seq_length
    if length is None:
        length = bert_config.max_position_embeddings
    check_count("max_seq_length", length)
    bert_config.check_max_seq_length(length)
    return MaskFiller(model, tokenizer, max_seq_length=length, top_k=top_k)

"""Texts and pairs of texts -> features of the encoder."""

import dataclasses
import functools
from typing import Any, NamedTuple

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.settings import CheckedSettings, setting
from keras_bert.text.given_texts import to_columns
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.windows import lay_out_windows


class Packed(NamedTuple):
    """Texts or pairs of texts, packed for the encoder.

    Attributes:
        features: Ragged `input_ids` and `segment_ids`, int32 [B, (tokens)],
            or [B, (W), (tokens)] for texts in windows.
        truncated: Whether a row lost tokens, bool [B].
    """

    features: dict[str, tf.RaggedTensor]
    truncated: tf.Tensor

    def truncation_info(self) -> dict[str, tf.Tensor]:
        """Returns `truncated` and `num_tokens` of each row, by name."""
        return truncation_info(self.features["input_ids"], self.truncated)


def truncation_info(
    input_ids: tf.RaggedTensor,
    truncated: tf.Tensor | None = None,
    rows: tf.Tensor | None = None,
) -> dict[str, tf.Tensor]:
    """Returns `truncated`, bool [B], and `num_tokens`, int32 [B], of each row.

    Takes `input_ids` [N, (tokens)], or [N, R, (tokens)] for examples of several
    sequences. `num_tokens` includes special tokens. `rows` [N] is the index of
    each example's row; by default, each example is a row. Without `truncated`,
    no row counts as truncated.
    """
    lengths = input_ids.row_lengths(axis=-1)
    if isinstance(lengths, tf.RaggedTensor):
        lengths = tf.reduce_sum(lengths, axis=-1)
    num_tokens = tf.cast(lengths, tf.int32)
    if rows is not None:
        num_tokens = tf.math.segment_sum(num_tokens, rows)
    if truncated is None:
        truncated = tf.zeros_like(num_tokens, tf.bool)
    return {
        "truncated": tf.convert_to_tensor(truncated),
        "num_tokens": num_tokens,
    }


@dataclasses.dataclass(eq=False)
class BertPreprocessor(CheckedSettings, tf.Module):
    """Strings -> `input_ids`, `input_mask` and `segment_ids`.

    Training, evaluation and serving use the same object, so their features
    cannot differ. It works eagerly, in `dataset.map` and in a SavedModel.

    With a `doc_stride`, it cuts texts into overlapping windows of the form
    "[CLS] tokens [SEP]". All windows of a long text are full: the last window
    ends where the text ends. A text that fits into one window has the same
    features as without a `doc_stride`.

    Example:
        >>> tokenizer = keras_bert.BertTokenizer("vocab.txt")
        >>> preprocessor = keras_bert.BertPreprocessor(tokenizer, 16)
        >>> features = preprocessor(["the fox", "a dog"], ["good", "not bad"])
        >>> features["input_ids"].numpy()
        array([[ 2,  5,  9,  3, 25,  3,  0],
               [ 2,  6, 15,  3, 27, 26,  3]], dtype=int32)

    Attributes:
        tokenizer: The `BertTokenizer`.
        max_seq_length: The maximum sequence length, in tokens; longer texts are
            cut.
        doc_stride: The number of tokens from the start of one window to the
            start of the next. If `doc_stride` is larger than a window, windows
            follow each other without a gap. 0 turns windows off.
        max_num_windows: The number of windows to keep at the beginning of a
            text; 0 keeps all windows.
    """

    tokenizer: BertTokenizer
    # A pair has three special tokens.
    max_seq_length: int = setting(128, minimum=4)
    _: dataclasses.KW_ONLY
    doc_stride: int = setting(0, minimum=0)
    max_num_windows: int = setting(0, minimum=0)

    def __post_init__(self) -> None:
        super().__init__(name="bert_preprocessor")
        CheckedSettings.__post_init__(self)

    def __call__(self, first: Any, second: Any = None) -> dict[str, tf.Tensor]:
        """Returns packed texts or pairs, int32 [B, S] or [B, W, S].

        S is the length of the longest row, so short texts cost little.

        Args:
            first: Strings [B], as a list, an array or a tensor; or a tuple of
                two of these, the first and the second texts of pairs.
            second: The second texts of pairs.

        Raises:
            InputError: If the texts are not a flat list or array of strings (a
                list of pairs is not), or if the numbers of first and second
                texts differ.
        """
        return pad(self.pack(first, second).features)

    def pack(self, first: Any, second: Any = None) -> Packed:
        """Returns packed strings [B], or pairs of strings, without padding.

        Pairs have no windows.
        """
        return self.pack_columns(*to_columns(first, second))

    # A tf.function, because building the graph of ragged ops takes longer than
    # running it.
    @functools.partial(tf.function, autograph=False, reduce_retracing=True)
    def pack_columns(
        self, first: tf.Tensor, second: tf.Tensor | None = None
    ) -> Packed:
        """Like `pack`, for string tensors; all batch sizes share one graph."""
        columns = [first] if second is None else [first, second]
        segments = [self.tokenizer(texts) for texts in columns]
        if not self.doc_stride:
            return self.pack_ids(segments)
        if second is not None:
            raise InputError(
                "Pairs are not split into windows; leave doc_stride out, or "
                "give one column of texts."
            )
        return self._pack_windows(segments[0])

    def pack_ids(self, segments: list[tf.RaggedTensor]) -> Packed:
        """Packs one or two batches of ids as [CLS] first [SEP] second [SEP].

        The longer segment loses tokens first, by default at its end; see
        `TokenizerSettings`. A row has at most `max_seq_length` tokens.
        """
        settings = self.tokenizer.settings
        num_between = settings.pair_separators * (len(segments) - 1)
        budget = self.max_seq_length - 2 - num_between
        lengths = [ids.row_lengths() for ids in segments]
        truncated = tf.add_n(lengths) > budget
        # The result is the same as if one token after another were dropped from
        # the longer segment, or from the second if both are equally long.
        # transformers differs; see `TokenizerSettings.is_of_hub`.
        if len(segments) == 2:
            first, second = lengths
            half = (budget + 1) // 2
            if settings.is_of_hub:
                half = (budget + tf.cast(first > second, tf.int64)) // 2
            lengths[0] = tf.minimum(first, tf.maximum(budget - second, half))
            budget -= lengths[0]
        lengths[-1] = tf.minimum(lengths[-1], budget)
        cls, sep = (
            tf.RaggedTensor.from_tensor(tf.fill([tf.size(truncated), 1], id_))
            for id_ in (self.tokenizer.cls_id, self.tokenizer.sep_id)
        )
        input_ids, segment_ids = [cls], [tf.zeros_like(cls)]
        for i, ids in enumerate(segments):
            starts = ids.row_starts()
            if settings.truncation_side == "left":
                starts += ids.row_lengths() - lengths[i]
            places = tf.ragged.range(starts, starts + lengths[i])
            is_last = i == len(segments) - 1
            ends = [sep] * (1 if is_last else settings.pair_separators)
            kept = tf.gather(ids.flat_values, places)
            part = tf.concat([kept, *ends], axis=1)
            input_ids.append(part)
            segment = settings.second_segment if i else 0
            segment_ids.append(tf.ones_like(part) * segment)
        features = {
            "input_ids": tf.concat(input_ids, axis=1),
            "segment_ids": tf.concat(segment_ids, axis=1),
        }
        return Packed(features, truncated)

    def _pack_windows(self, ids: tf.RaggedTensor) -> Packed:
        windows = lay_out_windows(
            ids.row_lengths(),
            size=self.max_seq_length - 2,
            step=self.doc_stride,
            max_num_windows=self.max_num_windows,
        )
        input_ids = windows.surround(
            self.tokenizer.cls_id,
            tf.gather(ids.values, windows.places(ids.row_starts()).values),
            self.tokenizer.sep_id,
        )
        input_ids = windows.numbers.with_values(input_ids)
        features = {
            "input_ids": input_ids,
            "segment_ids": tf.zeros_like(input_ids),
        }
        num_read = tf.math.segment_max(windows.ends, windows.text_numbers)
        return Packed(features, num_read < ids.row_lengths())


def pad(packed: dict[str, tf.Tensor | tf.RaggedTensor]) -> dict[str, tf.Tensor]:
    """Ragged features -> dense features [B, S], or [B, W, S].

    If there is no `input_mask`, one is added, with 1 for every token.
    """
    mask = {"input_mask": tf.ones_like(packed["input_ids"])}
    # Google pads with 0, even if the id of [PAD] is another number.
    return {
        name: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x
        for name, x in (mask | packed).items()
    }

"""The steps of a `tokenizer.json`, in TensorFlow without tensorflow-text."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text import normalizers, pre_tokenizers, text_ops
from keras_bert.text.piece_models import (
    BytePairs,
    KnownWords,
    Unigram,
    WordPiece,
)
from keras_bert.text.tokenizer_json import TokenizerJson, damage_named, refused
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.vocab import TokenizerBase

# Loops are slow outside of a graph.
_on_strings = tf.function(
    autograph=False, input_signature=[tf.TensorSpec([None], tf.string)]
)


class TextSplitter(tf.Module):
    """Cleans texts and splits them into pieces, as a tokenizer.json describes.

    It has the attributes and methods of `WordPieceSplitter`.

    Attributes:
        trims: Whether the span of a token leaves out the spaces around it.
    """

    implementation = "keras_bert"

    def __init__(self, json: TokenizerJson, tokenizer: TokenizerBase):
        super().__init__(name="text_splitter")
        with damage_named(json.file):
            self._normalizers = _normalizers(json, tokenizer.settings)
            self._split = _pre_tokenizer(json)
        self._pieces = _model(json, tokenizer)
        # A tuple, because TensorFlow would track a list and store it in every
        # SavedModel.
        self._bytes = tuple(bytes_of(json, tokenizer))
        self._num_pieces = len(tokenizer.pieces)
        processor = json.values.get("post_processor") or {}
        self.trims = bool(processor.get("trim_offsets"))
        self._keeps_first_space = processor.get("add_prefix_space", True)
        self._is_of_bert = json.is_of_bert

    def valid(self, texts: tf.Tensor) -> tf.Tensor:
        """Returns the texts without bytes that are not valid UTF-8."""
        is_valid = tf.strings.regex_full_match(texts, r"[^\x{D800}-\x{DFFF}]*")
        return text_ops.change_where(~is_valid, texts, text_ops.drop_invalid)

    def clean(self, texts: tf.Tensor) -> tf.Tensor:
        for step in self._normalizers:
            texts = step.clean(texts)
        return texts

    @_on_strings
    def tokenize(self, clean: tf.Tensor) -> tf.RaggedTensor:
        words = self._split(clean)
        ids = self._pieces(words.words.values).ids
        return words.words.with_values(ids).merge_dims(1, 2)

    @_on_strings
    def tokenize_with_offsets(
        self, clean: tf.Tensor
    ) -> Sequence[tf.RaggedTensor]:
        words = self._split(clean)
        pieces = self._pieces(words.words.values)
        ids, starts, ends = pieces.ids, pieces.starts, pieces.ends
        places = words.places(ids.value_rowids(), starts.values, ends.values)
        columns = [ids, *map(ids.with_values, places)]
        return [words.words.with_values(x).merge_dims(1, 2) for x in columns]

    def clean_chars(
        self, chars: normalizers.Characters
    ) -> tuple[normalizers.Characters, tf.Tensor]:
        for step in self._normalizers:
            chars = step(chars)
        return chars, text_ops.num_bytes(chars.codes)

    def trim(
        self, columns: Sequence[tf.RaggedTensor]
    ) -> Sequence[tf.RaggedTensor]:
        """Returns the ids and spans, without outer spaces if `trims` is True.

        The spans are in characters.
        """
        if not self.trims:
            return columns
        ids, starts, ends = (x.values for x in columns)
        # The numbers of spaces at the beginning and at the end of each piece.
        # The spans of added tokens are trimmed already.
        spaces = np.zeros([2, len(self._bytes)], np.int32)
        for i, piece in enumerate(self._bytes[: self._num_pieces]):
            without = piece.lstrip(b" "), piece.rstrip(b" ")
            spaces[:, i] = [len(piece) - len(x) for x in without]
        leading, trailing = (tf.gather(numbers, ids) for numbers in spaces)
        if self._keeps_first_space:
            is_first = text_ops.begins_row(columns[0].value_rowids())
            leading = tf.where(is_first | (starts == 0), 0, leading)
        starts = tf.minimum(starts + leading, ends)
        trimmed = tf.maximum(ends - trailing, starts)
        ends = tf.where(ends >= trailing, trimmed, ends)
        return [columns[0], *map(columns[0].with_values, (starts, ends))]

    def detokenize(self, ids: tf.RaggedTensor | tf.Tensor) -> tf.Tensor:
        """Ids [B, (tokens)] -> strings [B]."""
        pieces = tf.gather(tf.constant(self._bytes), ids)
        separator = " " if self._is_of_bert else ""
        texts = tf.strings.reduce_join(pieces, axis=-1, separator=separator)
        return tf.strings.regex_replace(texts, "^ | ##", "")


def byte_of_chars() -> dict[str, int]:
    """Returns the byte that each character stands for in GPT-2's pieces.

    The bytes are in ascending order.
    """
    kept = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = itertools.count(256)
    return {chr(x if x in kept else next(others)): x for x in range(256)}


def bytes_of(json: TokenizerJson, tokenizer: TokenizerBase) -> list[bytes]:
    """Returns the bytes that each id stands for in a text."""
    if json.model["type"] != "BPE":
        meta = pre_tokenizers.META
        return [x.replace(meta, " ").encode() for x in tokenizer.vocab]
    names = byte_of_chars()
    return [
        bytes(map(names.__getitem__, x)) if names.keys() >= {*x} else x.encode()
        for x in tokenizer.vocab
    ]


def _normalizers(
    json: TokenizerJson, settings: TokenizerSettings
) -> Sequence[normalizers.Normalizer]:
    if json.is_of_bert:
        return normalizers.bert_normalizers(
            lowers=settings.do_lower_case,
            strips_accents=settings.strips_accents,
            splits_cjk=settings.tokenize_chinese_chars,
        )
    steps: list[normalizers.Normalizer] = []
    for values in json.sequence("normalizer", "normalizers"):
        match values:
            case {"type": "NFC" | "NFD" | "NFKC" | "NFKD" as form}:
                steps.append(normalizers.unicode_form(form))
            case {"type": "Precompiled", "precompiled_charsmap": charsmap}:
                steps.append(normalizers.Charsmap(charsmap))
            case {"type": "Strip", "strip_left": False, "strip_right": True}:
                steps.append(normalizers.StripRight())
            case {
                "type": "Replace",
                "pattern": {"Regex": " {2,}"},
                "content": " " | "\u2581" as content,
            }:
                steps.append(normalizers.Spaces(content))
            case _:
                raise refused(json.file, "normalizer", values)
    return steps


def _pre_tokenizer(
    json: TokenizerJson,
) -> Callable[[tf.Tensor], pre_tokenizers.Words]:
    steps = json.sequence("pre_tokenizer", "pretokenizers")
    splits = steps[:1] == [{"type": "WhitespaceSplit"}]
    match steps[splits:]:
        case [{"type": "BertPreTokenizer"}]:
            return pre_tokenizers.Bert()
        case [{"type": "ByteLevel"} as step] if step.get("use_regex", True):
            if not splits:
                return pre_tokenizers.ByteLevel(json.adds_space)
        case [{"type": "Metaspace", "replacement": "\u2581"} as step]:
            scheme = step.get("prepend_scheme", "always")
            is_usual = scheme == "always" and step.get("split", True)
            if is_usual and step.get("add_prefix_space", True):
                return pre_tokenizers.Metaspace(splits)
    raise refused(json.file, "pre_tokenizer", steps)


def _model(json: TokenizerJson, tokenizer: TokenizerBase) -> KnownWords:
    model, pieces = json.model, dict(json.vocab)
    if not tokenizer.settings.special_tokens_in_text:
        special = {x.content for x in json.added_tokens if x.special}
        pieces = {x: i for x, i in pieces.items() if x not in special}
    if json.is_of_bert:
        longest = tokenizer.settings.max_input_chars_per_word
        word_piece = WordPiece(pieces, tokenizer.unk_id, longest)
        return KnownWords(word_piece, pieces)
    if model["type"] == "Unigram":
        scores = [score for _, score in model["vocab"]]
        return KnownWords(Unigram(scores, pieces, model["unk_id"]), pieces)
    names = byte_of_chars()
    if missing := [x for x in names if x not in json.vocab]:
        raise InputError(
            f"{json.file} has no token for {len(missing)} of the 256 bytes; "
            "give a byte-level BPE tokenizer."
        )
    byte_ids = [json.vocab[x] for x in names]
    merges: dict[tuple[int, int], int] = {}
    with damage_named(json.file):
        for merge in model["merges"]:
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            pair = json.vocab[left], json.vocab[right]
            # If a pair occurs twice, its last rank counts, as in `tokenizers`.
            merges.pop(pair, None)
            merges[pair] = json.vocab[left + right]
    words = {
        bytes(map(names.__getitem__, x)): i
        for x, i in pieces.items()
        if names.keys() >= {*x}
    }
    return KnownWords(BytePairs(byte_ids, merges), words)

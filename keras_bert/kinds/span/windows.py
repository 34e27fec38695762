"""Cuts questions and contexts into windows that the encoder can read."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_bert.kinds.span.settings import SpanSettings
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.windows import lay_out_windows
from keras_bert.text.words import clean_text

# The separators of words in google-research/bert, run_squad.py.
SPACES = " \t\r\n\u202f"


class Windows(NamedTuple):
    """W windows, each a question with a part of its context.

    The fields after `truncated` are int32 RaggedTensors [W, (tokens)]; those
    after `segment_ids` are -1 for a token outside of the context.

    Attributes:
        rows: The number of the question, int64 [W], in rising order.
        truncated: Whether a question was truncated, bool [B], for each
            question.
        input_ids, segment_ids: [CLS] question [SEP] part of the context [SEP].
        context_tokens: The number of the token in its context.
        starts, ends: The place of the token in its context, in characters.
        word_starts, word_ends: The place of its word, between `SPACES`.
        word_start_drifts, word_end_drifts: The number of characters that
            cleaning adds to the context before the word's start, or its end;
            spaces do not count.
        is_max_context: 1 if no other window has more context around the token,
            0 otherwise.
    """

    rows: tf.Tensor
    truncated: tf.Tensor
    input_ids: tf.RaggedTensor
    segment_ids: tf.RaggedTensor
    context_tokens: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor
    word_starts: tf.RaggedTensor
    word_ends: tf.RaggedTensor
    word_start_drifts: tf.RaggedTensor
    word_end_drifts: tf.RaggedTensor
    is_max_context: tf.RaggedTensor

    def features(self) -> dict[str, tf.RaggedTensor]:
        """Returns the ragged inputs of the network."""
        return {"input_ids": self.input_ids, "segment_ids": self.segment_ids}


def cut_windows(
    questions: tf.Tensor,
    contexts: tf.Tensor,
    tokenizer: BertTokenizer,
    settings: SpanSettings,
) -> Windows:
    """Cuts contexts [B] into windows, each with its question [B].

    They are the windows of google-research/bert, run_squad.py. A context
    without a token has one window.
    """
    question_ids = tokenizer(questions)
    truncated = question_ids.row_lengths() > settings.max_query_length
    question_ids = question_ids[:, : settings.max_query_length]
    # Many questions are asked about the same context.
    contexts, context_of_row = tf.unique(contexts)
    tokens = _locate_tokens(tokenizer, contexts)
    ids = tokens.pop("ids")
    num_tokens = tf.gather(ids.row_lengths(), context_of_row)
    layout = lay_out_windows(
        num_tokens,
        size=settings.max_seq_length - 3 - question_ids.row_lengths(),
        step=settings.doc_stride,
        last_is_full=False,
    )
    rows = layout.text_numbers
    places = layout.places(tf.gather(ids.row_starts(), context_of_row))
    cls, sep = (
        tf.ragged.range(tf.ones_like(rows, tf.int32)) + special
        for special in (tokenizer.cls_id, tokenizer.sep_id)
    )
    context_ids = tf.concat([_take(ids, places), sep], axis=1)
    question_ids = tf.concat([cls, tf.gather(question_ids, rows), sep], axis=1)

    def around(values):
        no_question = tf.zeros_like(question_ids) - 1
        return tf.concat([no_question, values, tf.zeros_like(sep) - 1], axis=1)

    numbers = tf.ragged.range(layout.starts, layout.ends)
    return Windows(
        rows=rows,
        truncated=truncated,
        input_ids=tf.concat([question_ids, context_ids], axis=1),
        segment_ids=tf.concat(
            [tf.zeros_like(question_ids), tf.ones_like(context_ids)], axis=1
        ),
        context_tokens=around(tf.cast(numbers, tf.int32)),
        is_max_context=around(_is_max_context(numbers, layout, num_tokens)),
        **{n: around(_take(x, places)) for n, x in tokens.items()},
    )


def _locate_tokens(tokenizer, contexts):
    """Returns ids and places of the tokens of contexts, [B, (tokens)]."""
    tokens = tokenizer.tokenize_with_offsets(contexts)
    # With one more space, a space follows each word.
    characters = tf.strings.unicode_decode(
        tf.strings.join([contexts, " "]), "UTF-8", errors="ignore"
    )
    points = characters.flat_values
    is_space = tf.reduce_any(points[:, None] == list(map(ord, SPACES)), axis=1)
    spaces = tf.cast(tf.where(is_space)[:, 0], tf.int32)
    spaces = tf.pad(spaces, [[1, 0]], constant_values=-1)
    drifts = _clean_sizes(points, tokenizer.settings)
    drifts -= tf.cast(~is_space, tf.int32)
    drifts = tf.pad(tf.cumsum(drifts), [[1, 0]])

    text_starts = tf.cast(
        tf.gather(characters.row_starts(), tokens.ids.value_rowids()), tf.int32
    )
    next_space = tf.searchsorted(
        spaces, tokens.start_chars.flat_values + text_starts
    )
    word_ends = tf.gather(spaces, next_space)
    word_starts = tf.gather(spaces, next_space - 1) + 1
    text_drifts = tf.gather(drifts, text_starts)
    flat = {
        "word_starts": word_starts - text_starts,
        "word_ends": word_ends - text_starts,
        "word_start_drifts": tf.gather(drifts, word_starts) - text_drifts,
        "word_end_drifts": tf.gather(drifts, word_ends) - text_drifts,
    }
    return {
        "ids": tokens.ids,
        "starts": tokens.start_chars,
        "ends": tokens.end_chars,
        **{n: tokens.ids.with_flat_values(x) for n, x in flat.items()},
    }


def _clean_sizes(characters, settings):
    """Returns how many characters cleaning makes of each; 0 for a space."""
    unique, index = tf.unique(characters)
    texts = tf.strings.unicode_encode(unique[:, None], "UTF-8")
    texts = clean_text(texts, settings)
    texts = tf.strings.regex_replace(texts, r"[\s\p{Z}]", "")
    return tf.gather(tf.strings.length(texts, unit="UTF8_CHAR"), index)


def _is_max_context(numbers, layout, num_tokens):
    """Returns 1 for each token [W, (tokens)] in its best window, or else 0.

    The score of a window is the number of tokens on the token's shorter side
    plus 0.01 times its length; the first of equal scores is the best.
    """
    flat, windows = numbers.flat_values, numbers.value_rowids()
    starts, ends = (tf.gather(x, windows) for x in (layout.starts, layout.ends))
    shorter = tf.minimum(flat - starts, ends - 1 - flat)
    scores = tf.cast(shorter, tf.float64)
    scores += 0.01 * tf.cast(ends - starts, tf.float64)
    # The tokens of all contexts are numbered from 0 to `size`.
    begins = tf.cumsum(num_tokens, exclusive=True)
    tokens = flat + tf.gather(tf.gather(begins, layout.text_numbers), windows)
    size = tf.reduce_sum(num_tokens)
    best = tf.math.unsorted_segment_max(scores, tokens, size)
    is_best = scores == tf.gather(best, tokens)
    first = tf.math.unsorted_segment_min(
        tf.where(is_best, windows, windows.dtype.max), tokens, size
    )
    is_first = windows == tf.gather(first, tokens)
    return numbers.with_flat_values(tf.cast(is_first, tf.int32))


def _take(values, places):
    return places.with_flat_values(
        tf.gather(values.flat_values, places.flat_values)
    )

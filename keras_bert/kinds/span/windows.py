"""Cuts questions and contexts into windows that the encoder can read."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.words import clean_text

# The separators of words in google-research/bert, run_squad.py.
SPACES = " \t\r\n\u202f"


class Windows(NamedTuple):
    """W windows, each a question with a part of its context.

    The fields after `truncated` are int32 RaggedTensors [W, (tokens)]; those
    after `segment_ids` are -1 for a token outside of the context.

    Attributes:
        rows: The number of the question, int32 [W], in rising order.
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


class QuestionWindows(tf.Module):
    """Cuts strings into `Windows` as google-research/bert, run_squad.py, does.

    The same object serves training, evaluation and the SavedModel. A context
    without a token has one window.

    Attributes:
        tokenizer: The `BertTokenizer`.
        max_seq_length: The largest number of tokens of a window.
        doc_stride: Tokens from the start of one window to the start of the
            next; fewer if a window has room for fewer.
        max_query_length: Longer questions are truncated to this many tokens.
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        *,
        max_seq_length: int,
        doc_stride: int,
        max_query_length: int,
    ):
        super().__init__(name="question_windows")
        if max_query_length + 3 >= max_seq_length:
            raise InputError(
                f"A question of max_query_length {max_query_length} and three "
                "special tokens leave no room for the context in "
                f"max_seq_length {max_seq_length}; choose a smaller "
                "max_query_length or a larger max_seq_length."
            )
        self.tokenizer = tokenizer
        self.max_seq_length = max_seq_length
        self.doc_stride = doc_stride
        self.max_query_length = max_query_length

    def __call__(self, questions: tf.Tensor, contexts: tf.Tensor) -> Windows:
        """Cuts contexts [B] into windows, each with its question [B]."""
        questions = self.tokenizer(questions)
        truncated = questions.row_lengths() > self.max_query_length
        questions = questions[:, : self.max_query_length]
        # Many questions are asked about the same context.
        contexts, context_of_row = tf.unique(contexts)
        tokens = _locate_tokens(self.tokenizer, contexts)
        ids = tokens.pop("ids")
        layout = _lay_out(
            num_tokens=tf.gather(ids.row_lengths(), context_of_row),
            room=self.max_seq_length - 3 - questions.row_lengths(),
            doc_stride=self.doc_stride,
        )
        rows = layout.rows
        begins = layout.firsts + tf.gather(
            ids.row_starts(), tf.gather(context_of_row, rows)
        )
        places = tf.ragged.range(begins, begins + layout.lengths)  # of tokens
        question_ids = tf.gather(questions, rows)
        cls, sep = (
            tf.ragged.range(tf.ones_like(rows)) + special
            for special in (self.tokenizer.cls_id, self.tokenizer.sep_id)
        )
        context_ids = tf.concat([_take(ids, places), sep], axis=1)
        question_ids = tf.concat([cls, question_ids, sep], axis=1)

        def around(values):
            no_question = tf.zeros_like(question_ids) - 1
            return tf.concat(
                [no_question, values, tf.zeros_like(sep) - 1], axis=1
            )

        numbers = tf.ragged.range(layout.firsts, layout.firsts + layout.lengths)
        return Windows(
            rows=rows,
            truncated=truncated,
            input_ids=tf.concat([question_ids, context_ids], axis=1),
            segment_ids=tf.concat(
                [tf.zeros_like(question_ids), tf.ones_like(context_ids)], axis=1
            ),
            context_tokens=around(tf.cast(numbers, tf.int32)),
            is_max_context=around(_is_max_context(numbers, layout)),
            **{n: around(_take(x, places)) for n, x in tokens.items()},
        )


def _locate_tokens(tokenizer, contexts):
    """Returns ids and places of the tokens of contexts, [B, (tokens)]."""
    tokens = tokenizer.tokenize_with_offsets(contexts)
    # With one more space, a space follows each word.
    characters = tf.strings.unicode_decode(
        tf.strings.join([contexts, " "]), "UTF-8", errors="ignore"
    )
    flat = characters.flat_values
    is_space = tf.reduce_any(flat[:, None] == list(map(ord, SPACES)), axis=1)
    spaces = tf.cast(tf.where(is_space)[:, 0], tf.int32)
    spaces = tf.pad(spaces, [[1, 0]], constant_values=-1)
    drifts = _clean_sizes(flat, tokenizer.settings) - tf.cast(
        ~is_space, tf.int32
    )
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
    return {
        "ids": tokens.ids,
        "starts": tokens.start_chars,
        "ends": tokens.end_chars,
    } | {
        name: tokens.ids.with_flat_values(values)
        for name, values in {
            "word_starts": word_starts - text_starts,
            "word_ends": word_ends - text_starts,
            "word_start_drifts": tf.gather(drifts, word_starts) - text_drifts,
            "word_end_drifts": tf.gather(drifts, word_ends) - text_drifts,
        }.items()
    }


def _clean_sizes(characters, settings):
    """Returns how many characters cleaning makes of each; 0 for a space."""
    unique, index = tf.unique(characters)
    texts = tf.strings.unicode_encode(unique[:, None], "UTF-8")
    texts = clean_text(texts, settings)
    texts = tf.strings.regex_replace(texts, r"[\s\p{Z}]", "")
    return tf.gather(tf.strings.length(texts, unit="UTF8_CHAR"), index)


class _Layout(NamedTuple):
    """The places of windows in their contexts, all [W].

    Attributes:
        rows: The number of the row, int32.
        numbers, counts: The number of the window in its row, from 0, and the
            number of windows of the row.
        firsts, lengths: The first token, and the number of tokens.
        room, steps: The tokens of a full window of the row, and the tokens
            from one start to the next.
        num_tokens: The tokens of the whole context.
    """

    rows: tf.Tensor
    numbers: tf.Tensor
    counts: tf.Tensor
    firsts: tf.Tensor
    lengths: tf.Tensor
    room: tf.Tensor
    steps: tf.Tensor
    num_tokens: tf.Tensor


def _lay_out(*, num_tokens, room, doc_stride):
    steps = tf.minimum(room, doc_stride)
    too_many = tf.maximum(num_tokens - room, 0)
    counts = 1 - (-too_many // steps)  # rounded up
    rows = tf.repeat(tf.range(tf.size(counts)), counts)
    first_windows = tf.gather(tf.cumsum(counts, exclusive=True), rows)
    numbers = tf.range(tf.size(rows, tf.int64)) - first_windows
    counts, room, steps, num_tokens = (
        tf.gather(x, rows) for x in (counts, room, steps, num_tokens)
    )
    firsts = numbers * steps
    lengths = tf.minimum(room, num_tokens - firsts)
    return _Layout(
        rows, numbers, counts, firsts, lengths, room, steps, num_tokens
    )


def _is_max_context(tokens, layout):
    """Returns 1 for each token [W, (tokens)] in its best window, or else 0.

    The score of a window is the number of tokens on the token's shorter side
    plus 0.01 times its length; the first of equal scores is the best. All
    windows of a row but the last have the same length, so the best of these is
    the one whose middle is nearest to the token.
    """
    flat = tokens.flat_values
    windows = _Layout(*(tf.gather(x, tokens.value_rowids()) for x in layout))

    def score(numbers, lengths):
        left = flat - numbers * windows.steps
        shorter = tf.minimum(left, lengths - 1 - left)
        total = tf.cast(shorter, tf.float64)
        total += 0.01 * tf.cast(lengths, tf.float64)
        return tf.where((shorter >= 0) & (numbers >= 0), total, -float("inf"))

    last = windows.counts - 1
    steps, room = windows.steps, windows.room
    # (token - room / 2) / step, rounded; a half is rounded down.
    nearest = -((room - 1 + steps - 2 * flat) // (2 * steps))
    nearest = tf.minimum(tf.maximum(nearest, 0), last - 1)
    last_length = windows.num_tokens - last * steps
    is_last = score(last, last_length) > score(nearest, room)
    best = tf.where(is_last, last, nearest)
    return tokens.with_flat_values(tf.cast(best == windows.numbers, tf.int32))


def _take(values, places):
    return places.with_flat_values(
        tf.gather(values.flat_values, places.flat_values)
    )

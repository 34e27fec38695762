"""Questions and contexts -> windows that the encoder can read, and labels."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.kinds.examples import IGNORED
from keras_bert.kinds.fields import numbered
from keras_bert.kinds.settings import SpanSettings
from keras_bert.tasks.base import Row
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.windows import WindowLayout, lay_out_windows
from keras_bert.text.words import clean_text

# The separators of words in run_squad.py of google-research/bert.
SPACES = " \t\r\n\u202f"
_SPACE = re.compile(f"[{SPACES}]+")
# No token has this index.
_NOWHERE = -2


class Windows(NamedTuple):
    """W windows, each a question with a part of its context.

    The fields after `truncated` are int32 RaggedTensors [W, (tokens)]; the
    fields after `segment_ids` are -1 for a token outside of the context.

    Attributes:
        rows: The index of each window's question, int64 [W], in ascending
            order.
        truncated: Whether each of the B questions was truncated, bool [B].
        input_ids, segment_ids: The ids of [CLS] question [SEP] part of the
            context [SEP].
        context_tokens: The index of the token in its context.
        starts, ends: The span of the token in its context, in characters.
        word_starts, word_ends: The span of the token's word; `SPACES` separate
            words.
        word_start_drifts, word_end_drifts: The number of characters that
            cleaning adds to the context up to the start, or the end, of the
            word; negative if it removes more than it adds. Spaces do not count.
        is_max_context: 1 for a token in the window with the most context around
            it, or the first of several such windows; 0 otherwise.
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
    """Returns the windows of contexts [B], each with its question [B].

    These are the windows of run_squad.py in google-research/bert. A context
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
    num_separators = tokenizer.settings.pair_separators
    room = settings.max_seq_length - 2 - num_separators
    layout = lay_out_windows(
        num_tokens,
        size=room - question_ids.row_lengths(),
        step=settings.doc_stride,
        last_is_full=False,
    )
    rows = layout.text_numbers
    places = layout.places(tf.gather(ids.row_starts(), context_of_row))
    question_ids = tf.gather(question_ids, rows)
    # Each window fits, so nothing is truncated.
    pack_ids = BertPreprocessor(tokenizer, settings.max_seq_length).pack_ids
    packed = pack_ids([question_ids, tf.gather(ids.values, places)])
    num_before = 1 + question_ids.row_lengths() + num_separators
    before = tf.zeros_like(tf.ragged.range(num_before), tf.int32) - 1

    def around(values: tf.RaggedTensor) -> tf.RaggedTensor:
        return tf.concat([before, values, before[:, :1]], axis=1)

    numbers = tf.ragged.range(layout.starts, layout.ends)
    return Windows(
        rows=rows,
        truncated=truncated,
        **packed.features,
        context_tokens=around(tf.cast(numbers, tf.int32)),
        is_max_context=around(_is_max_context(numbers, layout, num_tokens)),
        **{n: around(tf.gather(x.values, places)) for n, x in tokens.items()},
    )


def label_windows(
    rows: Sequence[Row],
    contexts: Sequence[str],
    windows: Windows,
    tokenizer: BertTokenizer,
) -> list[tf.Tensor]:
    """Returns the positions of answers' first and last tokens, both int32 [W].

    The answer in a window is the first answer of the window's row. Both
    positions are 0, the position of [CLS], if there is no answer, or if the
    window does not contain the whole answer. Both are `IGNORED` in all windows
    of a row whose context does not have the answer at its `answer_start`; the
    log says how many such rows there are.
    """
    names = ("input_ids", "starts", "ends", "context_tokens", "is_max_context")
    flat = {name: getattr(windows, name).flat_values.numpy() for name in names}
    window = windows.input_ids.value_rowids().numpy()
    place = tf.ragged.range(windows.input_ids.row_lengths()).values.numpy()
    row_of_window = windows.rows.numpy()
    row = row_of_window[window]
    # One window of each token has the most context around it.
    chosen = np.flatnonzero(flat["is_max_context"] == 1)
    order = np.lexsort((flat["context_tokens"][chosen], row[chosen]))
    chosen = chosen[order]
    splits = np.searchsorted(row[chosen], np.arange(1, len(rows)))
    answer_ids = tokenizer(
        [row["label"][0]["text"] if row["label"] else "" for row in rows]
    ).to_list()
    spans = np.full((2, len(rows)), _NOWHERE)
    lost = []
    for i, (example, context, tokens, ids) in enumerate(
        zip(rows, contexts, np.split(chosen, splits), answer_ids, strict=True)
    ):
        if example["label"]:
            columns = (flat[name][tokens] for name in names[:3])
            span = _answer_tokens(context, example["label"][0], columns, ids)
            if span:
                spans[:, i] = span
            else:
                lost.append(i)
    if lost:
        number, example = list(numbered(rows))[lost[0]]
        logging.warning(
            "%d of %d answers are not at their answer_start, so training skips "
            "them; the first is %r, an answer to question %s.",
            len(lost),
            len(rows),
            example["label"][0]["text"],
            example.get("id", number),
        )
    positions = np.zeros((2, len(row_of_window)), "int32")
    for position, tokens in zip(positions, spans, strict=True):
        is_it = flat["context_tokens"] == tokens[row]
        position[window[is_it]] = place[is_it]
    positions[:, (positions == 0).any(axis=0)] = 0  # not the whole answer
    positions[:, np.isin(row_of_window, lost)] = IGNORED
    return tf.unstack(positions)


def _locate_tokens(
    tokenizer: BertTokenizer, contexts: tf.Tensor
) -> dict[str, tf.RaggedTensor]:
    """Returns the ids, spans and drifts of the tokens of contexts, by name."""
    tokens = tokenizer.tokenize_with_offsets(contexts)
    # With a space added at the end, a space follows each word.
    characters = tf.strings.unicode_decode(
        tf.strings.join([contexts, " "]), "UTF-8", errors="ignore"
    )
    points = characters.flat_values
    is_space = tf.reduce_any(points[:, None] == list(map(ord, SPACES)), axis=1)
    spaces = tf.cast(tf.where(is_space)[:, 0], tf.int32)
    spaces = tf.pad(spaces, [[1, 0]], constant_values=-1)
    drifts = _clean_sizes(points, tokenizer)
    drifts -= tf.cast(~is_space, tf.int32)
    drifts = tf.pad(tf.cumsum(drifts), [[1, 0]])

    text_starts = tf.cast(
        tf.gather(characters.row_starts(), tokens.ids.value_rowids()), tf.int32
    )
    # A token of ModernBERT includes the space before its word.
    letters = tf.cast(tf.where(~is_space)[:, 0], tf.int32)
    letters = tf.concat([letters, [tf.size(points)]], axis=0)
    ends = tokens.end_chars.flat_values + text_starts
    starts = tokens.start_chars.flat_values + text_starts
    starts = tf.gather(letters, tf.searchsorted(letters, starts))
    starts = tf.minimum(starts, ends)
    next_space = tf.searchsorted(spaces, starts)
    word_ends = tf.gather(spaces, next_space)
    word_starts = tf.gather(spaces, next_space - 1) + 1
    if not tokenizer.has_word_pieces:
        # The rule of google-research/bert applies only to its own cleaning.
        word_starts, word_ends = starts, ends
    text_drifts = tf.gather(drifts, text_starts)
    flat = {
        "starts": starts - text_starts,
        "word_starts": word_starts - text_starts,
        "word_ends": word_ends - text_starts,
        "word_start_drifts": tf.gather(drifts, word_starts) - text_drifts,
        "word_end_drifts": tf.gather(drifts, word_ends) - text_drifts,
    }
    return {
        "ids": tokens.ids,
        "ends": tokens.end_chars,
        **{n: tokens.ids.with_flat_values(x) for n, x in flat.items()},
    }


def _clean_sizes(characters: tf.Tensor, tokenizer: BertTokenizer) -> tf.Tensor:
    """Returns how many characters each character becomes; 0 for a space."""
    unique, index = tf.unique(characters)
    texts = tf.strings.unicode_encode(unique[:, None], "UTF-8")
    texts = clean_text(texts, tokenizer.settings, tokenizer.library)
    texts = tf.strings.regex_replace(texts, r"[\s\p{Z}]", "")
    return tf.gather(tf.strings.length(texts, unit="UTF8_CHAR"), index)


def _is_max_context(
    numbers: tf.RaggedTensor, layout: WindowLayout, num_tokens: tf.Tensor
) -> tf.RaggedTensor:
    """Returns 1 for each token [W, (tokens)] in its best window, or else 0.

    The score of a window is the number of tokens on the token's shorter side
    plus 0.01 times the length of the window. Of windows with equal scores, the
    first is best.
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


def _answer_tokens(
    context: str,
    answer: Row,
    tokens: Iterable[np.ndarray],
    answer_ids: list[int],
) -> tuple[int, int] | None:
    """Returns the indices of an answer's first and last token, or None."""
    ids, starts, ends = tokens
    # All words that the answer touches. A space belongs to the word before it.
    start = answer["answer_start"]
    end = len(context[: start + len(answer["text"])].rstrip(SPACES))
    start = len(context[: start + 1].rstrip(SPACES)) - 1
    start = max(context.rfind(space, 0, max(start, 0)) for space in SPACES) + 1
    space = _SPACE.search(context, end)
    end = space.start() if space else len(context)
    first = int(np.searchsorted(starts, start, "left"))
    last = int(np.searchsorted(ends, end, "right")) - 1
    # google-research/bert finds no answer with a no-break space: it splits the
    # answer at such a space, but not the context.
    text, words = (
        " ".join(x.split()) for x in (answer["text"], context[start:end])
    )
    if first > last or text not in words:
        return None
    # If possible, only the tokens of the answer: "1895" from "(1895".
    ids = ids[first : last + 1].tolist()
    size = len(answer_ids)
    for i in range(len(ids) - size + 1 if size else 0):
        if ids[i : i + size] == answer_ids:
            return first + i, first + i + size - 1
    return first, last

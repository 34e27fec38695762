"""Finds the tokens of gold answers in each window."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.kinds.examples import IGNORED
from keras_bert.kinds.fields import numbered
from keras_bert.kinds.span.windows import SPACES, Windows
from keras_bert.tasks.base import Row
from keras_bert.text.tokenizer import BertTokenizer


def label_windows(
    rows: Sequence[Row],
    contexts: Sequence[str],
    windows: Windows,
    tokenizer: BertTokenizer,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first and last token of each row's first answer, int32 [W].

    Both are 0, the position of [CLS], if there is no answer, or if the window
    does not contain all of it. Both are `IGNORED` in all windows of a row
    whose context does not have the answer at its `answer_start`; the log
    counts such rows.
    """
    row_of_window = windows.rows.numpy()
    flat = {n: x.numpy() for n, x in _flat(windows).items()}
    tokens_of_rows = _context_tokens(flat, row_of_window, len(rows))
    answer_ids = tokenizer(
        [row["label"][0]["text"] if row["label"] else "" for row in rows]
    ).to_list()
    firsts = np.full(len(rows), _NOWHERE)
    lasts = firsts.copy()
    lost = []
    for i, (row, context, tokens, ids) in enumerate(
        zip(rows, contexts, tokens_of_rows, answer_ids, strict=True)
    ):
        if row["label"]:
            span = _answer_tokens(context, row["label"][0], tokens, ids)
            if span:
                firsts[i], lasts[i] = span
            else:
                lost.append(i)
    if lost:
        number, row = list(numbered(rows))[lost[0]]
        logging.warning(
            "%d of %d answers are not at their answer_start, so they are not "
            "learned; the first is %r to question %s.",
            len(lost),
            len(rows),
            row["label"][0]["text"],
            row.get("id", number),
        )
    window, place = flat["window"], flat["place"]
    positions: list[np.ndarray] = []
    for tokens in (firsts, lasts):
        is_it = flat["context_tokens"] == tokens[row_of_window[window]]
        position = np.zeros(len(row_of_window), "int32")
        position[window[is_it]] = place[is_it]
        positions.append(position)
    is_whole = (positions[0] > 0) & (positions[1] > 0)
    is_lost = np.isin(row_of_window, lost)
    starts, ends = (
        np.where(is_lost, IGNORED, np.where(is_whole, x, 0)) for x in positions
    )
    return starts, ends


# No token has this number.
_NOWHERE = -2
_SPACE = re.compile(f"[{SPACES}]+")


def _flat(windows):
    """Returns the fields of all tokens of all windows."""
    names = ("input_ids", "context_tokens", "starts", "ends", "is_max_context")
    ids = windows.input_ids
    window = ids.value_rowids()
    return {name: getattr(windows, name).flat_values for name in names} | {
        "window": window,
        "place": tf.range(tf.size(window, tf.int64))
        - tf.gather(ids.row_starts(), window),
    }


def _context_tokens(flat, row_of_window, num_rows):
    """Yields the ids, starts and ends of the tokens of each row's context."""
    # One window of each token has the most context around it.
    chosen = np.flatnonzero(flat["is_max_context"] == 1)
    row = row_of_window[flat["window"][chosen]]
    order = np.lexsort((flat["context_tokens"][chosen], row))
    chosen = chosen[order]
    splits = np.searchsorted(row[order], np.arange(num_rows + 1))
    columns = [flat[name][chosen] for name in ("input_ids", "starts", "ends")]
    for first, last in zip(splits[:-1], splits[1:], strict=True):
        yield [column[first:last] for column in columns]


def _answer_tokens(context, answer, tokens, answer_ids):
    """Returns the numbers of the first and the last token, or None."""
    ids, starts, ends = tokens
    # All words that the answer touches. A space belongs to the word before it.
    start = answer["answer_start"]
    end = len(context[: start + len(answer["text"])].rstrip(SPACES))
    start = len(context[: start + 1].rstrip(SPACES)) - 1
    start = max(context.rfind(space, 0, max(start, 0)) for space in SPACES) + 1
    space = _SPACE.search(context, end)
    end = space.start() if space else len(context)
    first = np.searchsorted(starts, start, "left")
    last = np.searchsorted(ends, end, "right") - 1
    text = " ".join(answer["text"].split())
    if first > last or text not in " ".join(_SPACE.split(context[start:end])):
        return None
    # The tokens of the answer alone are better: "(1895" contains "1895".
    ids = ids[first : last + 1].tolist()
    size = len(answer_ids)
    for i in range(len(ids) - size + 1 if size else 0):
        if ids[i : i + size] == answer_ids:
            return first + i, first + i + size - 1
    return first, last

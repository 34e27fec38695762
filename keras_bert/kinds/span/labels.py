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
) -> list[tf.Tensor]:
    """Returns the first and last token of each row's first answer, int32 [W].

    Both are 0, the position of [CLS], if there is no answer, or if the window
    does not contain all of it. Both are `IGNORED` in all windows of a row
    whose context does not have the answer at its `answer_start`; the log
    counts such rows.
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
            "%d of %d answers are not at their answer_start, so they are not "
            "learned; the first is %r to question %s.",
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


# No token has this number.
_NOWHERE = -2
_SPACE = re.compile(f"[{SPACES}]+")


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

"""Finds the parts of contexts that the scores of tokens choose."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.kinds.span.settings import SpanSettings
from keras_bert.kinds.span.windows import SPACES, Windows

# A Python float would be float32 in a graph.
_IMPOSSIBLE = np.float64("-inf")
# A run of white space in an answer becomes one space.
_SPACES = f"[{SPACES}]+"


class Candidates(NamedTuple):
    """Pairs of a first and a last token, N for each window.

    Attributes:
        scores: The sums of both logits, float64 [W, N]; -inf if the pair is
            not an answer.
        starts, ends: The positions of the tokens in the window, int32 [W, N].
    """

    scores: tf.Tensor
    starts: tf.Tensor
    ends: tf.Tensor


class Decoder:
    """Chooses answers by the logits [W, S] of the tokens of windows.

    It works eagerly and in a graph, with tensors or arrays.
    """

    def __init__(
        self,
        windows: Windows,
        start_logits: Any,
        end_logits: Any,
        *,
        settings: SpanSettings,
        unk_id: int,
    ):
        self._windows = windows
        self._starts = start_logits
        self._ends = end_logits
        self._settings = settings
        self._unk_id = unk_id

    def answers(self, contexts: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the answer to each question, as `Span` describes it."""
        found = Candidates(*map(np.array, self._find_candidates()))
        places, numbers = np.nonzero(np.isfinite(found.scores))
        firsts, lasts = (x[places, numbers] for x in (found.starts, found.ends))
        rows = self._windows.rows.numpy()
        order = np.lexsort((-found.scores[places, numbers], rows[places]))
        columns = [
            np.array(x)[order].tolist()
            for x in (
                *self._locate(places, firsts, lasts),
                self._starts[places, firsts],
                self._ends[places, lasts],
            )
        ]
        splits = np.searchsorted(rows[places][order], range(len(contexts) + 1))
        # The window of each row with the least score of "no answer".
        logits = self._starts[:, 0], self._ends[:, 0]
        least = np.lexsort((_sum(*logits), rows))
        least = least[np.searchsorted(rows, range(len(contexts)))]
        nulls = zip(*(x[least].tolist() for x in logits), strict=True)
        return [
            _answer(
                context,
                zip(*(column[first:last] for column in columns), strict=True),
                null,
                self._settings,
            )
            for context, first, last, null in zip(
                contexts, splits[:-1], splits[1:], nulls, strict=True
            )
        ]

    def best_answers(self, contexts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Does the same in a graph, for strings [B] and without n-best."""
        found = self._find_candidates()

        def by_row(values, padding):
            values = tf.RaggedTensor.from_value_rowids(
                values, self._windows.rows, tf.size(contexts, tf.int64)
            )
            return values.row_starts(), values.to_tensor(padding)

        # argmax takes the first of equal scores, as a stable sort does.
        first_places, scores = by_row(
            tf.reduce_max(found.scores, axis=1), _IMPOSSIBLE
        )
        places = first_places + tf.argmax(scores, axis=1)
        numbers = tf.argmax(tf.gather(found.scores, places), axis=1)
        tokens = (
            tf.gather(tf.gather(x, places), numbers, batch_dims=1)
            for x in (found.starts, found.ends)
        )
        starts, ends = self._locate(places, *tokens)
        scores = tf.reduce_max(scores, axis=1)
        is_found = tf.math.is_finite(scores)
        scores = tf.where(is_found, scores, np.float64(0))
        nulls = _sum(self._starts[:, 0], self._ends[:, 0])
        nulls = tf.reduce_min(by_row(nulls, float("inf"))[1], axis=1)
        null_odds = nulls - scores
        starts, ends = (tf.where(is_found, x, 0) for x in (starts, ends))
        texts = tf.strings.substr(contexts, starts, ends - starts, "UTF8_CHAR")
        texts = tf.strings.regex_replace(texts, _SPACES, " ")
        is_answered = texts != ""
        if self._settings.answers_may_be_missing:
            threshold = self._settings.null_score_diff_threshold
            is_answered &= null_odds <= threshold
        return {
            "answer": tf.where(is_answered, texts, ""),
            "best_answer": texts,
            "score": tf.cast(scores, tf.float32),
            "start": tf.where(is_answered, starts, 0),
            "end": tf.where(is_answered, ends, 0),
            "null_odds": tf.cast(null_odds, tf.float32),
        }

    def _find_candidates(self) -> Candidates:
        """Pairs the best starts of each window with its best ends.

        The `n_best_size` best positions of each kind are paired, even if they
        are outside of the context. A token can start an answer only in the
        window with the most context around the token. If no window of a
        question has a pair, the candidate of each window is its best single
        token.
        """
        rows = self._windows.rows
        shape = tf.shape(self._starts, tf.int64)
        may_be_single = (
            self._windows.is_max_context.to_tensor(-1, shape=shape) == 1
        )
        may_end = self._windows.context_tokens.to_tensor(-1, shape=shape) >= 0
        n = tf.minimum(self._settings.n_best_size, tf.cast(shape[1], tf.int32))
        # top_k keeps equal logits in order, as a stable sort does.
        start_scores, starts = tf.math.top_k(self._starts, n)
        end_scores, ends = tf.math.top_k(self._ends, n)
        may_start = tf.gather(may_be_single, starts, batch_dims=1)
        may_end = tf.gather(may_end, ends, batch_dims=1)
        lengths = ends[:, None, :] - starts[:, :, None] + 1  # [W, n, n]
        scores = tf.where(
            may_start[:, :, None]
            & may_end[:, None, :]
            & (lengths > 0)
            & (lengths <= self._settings.max_answer_length),
            _sum(start_scores[:, :, None], end_scores[:, None, :]),
            _IMPOSSIBLE,
        )
        flat = [-1, n * n]
        scores = tf.reshape(scores, flat)

        single_scores = tf.where(
            may_be_single, _sum(self._starts, self._ends), _IMPOSSIBLE
        )
        single = tf.argmax(single_scores, axis=1, output_type=tf.int32)
        single_scores = tf.reduce_max(single_scores, axis=1)
        best_of_row = tf.math.segment_max(tf.reduce_max(scores, axis=1), rows)
        has_pair = tf.math.is_finite(tf.gather(best_of_row, rows))
        single_scores = tf.where(has_pair, _IMPOSSIBLE, single_scores)
        starts = tf.reshape(tf.repeat(starts, n, axis=1), flat)
        ends = tf.reshape(tf.tile(ends, [1, n]), flat)
        pairs = (scores, single_scores), (starts, single), (ends, single)
        return Candidates(
            *(tf.concat([x, y[:, None]], axis=1) for x, y in pairs)
        )

    def _locate(self, places, starts, ends):
        """Returns where answers start and end, in characters of the context.

        Takes answers [N]: the numbers of their windows (`places`) and their
        first and last tokens. An answer becomes whole words if
        google-research/bert cannot find its characters, which counts the
        letters of the clean text: an unknown word has no letters, and cleaning
        may add or remove letters.
        """
        windows, ids = self._windows, self._windows.input_ids
        begins = tf.gather(ids.row_starts(), places)
        firsts, lasts = (begins + tf.cast(x, tf.int64) for x in (starts, ends))
        is_unknown = tf.cast(ids.flat_values == self._unk_id, tf.int32)
        num_unknown = tf.cumsum(tf.pad(is_unknown, [[1, 0]]))

        def of(field, tokens):
            return tf.gather(field.flat_values, tokens)

        is_exact = (
            tf.gather(num_unknown, firsts) == tf.gather(num_unknown, lasts + 1)
        ) & (
            of(windows.word_start_drifts, firsts)
            == of(windows.word_end_drifts, lasts)
        )
        starts, word_starts = windows.starts, windows.word_starts
        ends, word_ends = windows.ends, windows.word_ends
        return (
            tf.where(is_exact, of(starts, firsts), of(word_starts, firsts)),
            tf.where(is_exact, of(ends, lasts), of(word_ends, lasts)),
        )


def _sum(start_logits, end_logits):
    # In float64, as the reference adds in Python.
    return tf.cast(start_logits, tf.float64) + tf.cast(end_logits, tf.float64)


def _answer(context, candidates, null, settings):
    """Takes (start, end, start logit, end logit), the best one first."""
    found = {}
    for start, end, *logits in candidates:
        text = re.sub(_SPACES, " ", context[start:end])
        found.setdefault(text, (start, end, logits))
        if len(found) == settings.n_best_size:
            break
    n_best = [(text, logits) for text, (_, _, logits) in found.items()]
    best, (start, end, logits) = next(
        iter(found.items()), ("", (0, 0, (0.0, 0.0)))
    )
    null_odds = sum(null) - sum(logits)
    is_found = bool(best)
    if settings.answers_may_be_missing:
        is_found &= null_odds <= settings.null_score_diff_threshold
        rank = sum(sum(logits) >= sum(null) for _, logits in n_best)
        n_best.insert(rank, ("", null))
        # The empty answer is added to the best ones if it is worse than all.
        n_best = n_best[: max(settings.n_best_size, rank + 1)]
    elif not n_best:
        n_best = [("", null)]
    return {
        "answer": best if is_found else "",
        "score": sum(logits),
        "start": start if is_found else 0,
        "end": end if is_found else 0,
        "null_odds": null_odds,
        "best_answer": best,
        "nbest": _with_probabilities(n_best),
    }


def _with_probabilities(n_best):
    scores = [sum(logits) for _, logits in n_best]
    weights = [math.exp(score - max(scores)) for score in scores]
    return [
        {
            "text": text,
            "probability": weight / sum(weights),
            "start_logit": start_logit,
            "end_logit": end_logit,
        }
        for (text, (start_logit, end_logit)), weight in zip(
            n_best, weights, strict=True
        )
    ]

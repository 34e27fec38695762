"""Chooses the answers in contexts by the scores of tokens."""

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.kinds.examples import to_rows
from keras_bert.kinds.settings import SpanSettings
from keras_bert.kinds.span.windows import SPACES, Windows

# A Python float would be float32 in a graph.
_IMPOSSIBLE = np.float64("-inf")
# Several columns [B, (items)]: each has one value for each item.
Columns = list[tf.RaggedTensor]
# A run of white space in an answer becomes one space.
_SPACES = f"[{SPACES}]+"


@dataclasses.dataclass(frozen=True)
class Decoder:
    """Chooses answers from the logits [W, S] of W windows of S tokens.

    It works eagerly and in a graph.
    """

    windows: Windows
    start_logits: tf.Tensor
    end_logits: tf.Tensor
    settings: SpanSettings
    unk_id: int

    def answers(self, contexts: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the answer to each question, as `Span` describes it."""
        ranked, nulls = self._rank(len(contexts))
        best = self._choose(tf.constant(contexts, tf.string), ranked, nulls)
        answers = to_rows(best)
        for answer, context, candidates, null in zip(
            answers, contexts, _rows(ranked), _rows(nulls), strict=True
        ):
            answer["nbest"] = self._n_best(context, candidates, next(null))
        return answers

    def best_answers(self, contexts: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns what `answers` returns, except `nbest`, in a graph.

        `contexts` are strings [B].
        """
        best = self._choose(contexts, *self._rank(tf.size(contexts, tf.int64)))
        for name in ("score", "null_odds"):
            best[name] = tf.cast(best[name], tf.float32)
        return best

    def _choose(
        self, contexts: tf.Tensor, ranked: Columns, nulls: Columns
    ) -> dict[str, tf.Tensor]:
        starts, ends, *logits = map(_first, ranked)
        scores = _sum(*logits)  # 0 if there is no candidate
        null_odds = _sum(*map(_first, nulls)) - scores
        texts = tf.strings.substr(contexts, starts, ends - starts, "UTF8_CHAR")
        texts = tf.strings.regex_replace(texts, _SPACES, " ")
        is_answered = texts != ""
        if self.settings.answers_may_be_missing:
            threshold = self.settings.null_score_diff_threshold
            is_answered &= null_odds <= threshold
        return {
            "answer": tf.where(is_answered, texts, ""),
            "score": scores,
            "start": tf.where(is_answered, starts, 0),
            "end": tf.where(is_answered, ends, 0),
            "null_odds": null_odds,
            "best_answer": texts,
        }

    def _rank(self, num_rows: int | tf.Tensor) -> tuple[Columns, Columns]:
        """Returns columns of each row's candidates, and columns of "no answer".

        The first columns are the starts and the ends of the candidates, in
        characters, and the logits of both, [B, (candidates)], best first. The
        second columns are both logits of "no answer" in each window of the row,
        [B, (windows)], lowest first.
        """
        rows = self.windows.rows
        scores, *tokens = self._find_candidates()
        is_answer = tf.math.is_finite(scores)
        places = tf.where(is_answer)[:, 0]
        tokens = [tf.boolean_mask(x, is_answer) for x in tokens]
        logits = (
            tf.gather_nd(x, tf.stack([places, tf.cast(i, tf.int64)], axis=1))
            for x, i in zip(
                (self.start_logits, self.end_logits), tokens, strict=True
            )
        )
        ranked = _sort(
            (*self._locate(places, *tokens), *logits),
            tf.boolean_mask(scores, is_answer),
            tf.gather(rows, places),
            num_rows,
        )
        nulls = self.start_logits[:, 0], self.end_logits[:, 0]
        return ranked, _sort(nulls, -_sum(*nulls), rows, num_rows)

    def _find_candidates(self) -> Iterator[tf.Tensor]:
        """Pairs the best starts of each window with its best ends.

        Yields three tensors [W, N]: the sums of both logits, float64, or -inf
        for a pair that is not an answer; the positions of the start tokens in
        their windows; and the positions of the end tokens.

        The `n_best_size` best starts and ends are paired, even if they are
        outside of the context. A token can start an answer only in the window
        with the most context around the token. If no window of a question has a
        pair, the candidate of each window is its best single token.
        """
        rows = self.windows.rows
        shape = tf.shape(self.start_logits, tf.int64)
        may_be_single = (
            self.windows.is_max_context.to_tensor(-1, shape=shape) == 1
        )
        may_end = self.windows.context_tokens.to_tensor(-1, shape=shape) >= 0
        n = tf.minimum(self.settings.n_best_size, tf.cast(shape[1], tf.int32))
        # top_k keeps equal logits in order, as a stable sort does.
        start_scores, starts = tf.math.top_k(self.start_logits, n)
        end_scores, ends = tf.math.top_k(self.end_logits, n)
        may_start = tf.gather(may_be_single, starts, batch_dims=1)
        may_end = tf.gather(may_end, ends, batch_dims=1)
        lengths = ends[:, None, :] - starts[:, :, None] + 1  # [W, n, n]
        is_possible = may_start[:, :, None] & may_end[:, None, :]
        is_possible &= lengths > 0
        is_possible &= lengths <= self.settings.max_answer_length
        scores = _sum(start_scores[:, :, None], end_scores[:, None, :])
        flat = [-1, n * n]
        scores = tf.reshape(tf.where(is_possible, scores, _IMPOSSIBLE), flat)

        single_scores = tf.where(
            may_be_single, _sum(self.start_logits, self.end_logits), _IMPOSSIBLE
        )
        single = tf.argmax(single_scores, axis=1, output_type=tf.int32)
        single_scores = tf.reduce_max(single_scores, axis=1)
        best_of_row = tf.math.segment_max(tf.reduce_max(scores, axis=1), rows)
        has_pair = tf.math.is_finite(tf.gather(best_of_row, rows))
        single_scores = tf.where(has_pair, _IMPOSSIBLE, single_scores)
        starts = tf.reshape(tf.repeat(starts, n, axis=1), flat)
        ends = tf.reshape(tf.tile(ends, [1, n]), flat)
        pairs = (scores, single_scores), (starts, single), (ends, single)
        return (tf.concat([x, y[:, None]], axis=1) for x, y in pairs)

    def _locate(
        self, places: tf.Tensor, starts: tf.Tensor, ends: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the starts and ends of answers, in characters of the context.

        Takes N answers: the indices of their windows (`places`), and of their
        first and last tokens. An answer is widened to whole words if
        google-research/bert cannot find its characters. That code counts the
        letters of the clean text: an unknown word has no letters, and cleaning
        may add or remove letters.
        """
        windows, ids = self.windows, self.windows.input_ids
        begins = tf.gather(ids.row_starts(), places)
        firsts, lasts = (begins + tf.cast(x, tf.int64) for x in (starts, ends))
        is_unknown = tf.cast(ids.flat_values == self.unk_id, tf.int32)
        num_unknown = tf.cumsum(tf.pad(is_unknown, [[1, 0]]))

        def of(field: tf.RaggedTensor, tokens: tf.Tensor) -> tf.Tensor:
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

    def _n_best(
        self, context: str, candidates: Iterable[tuple], null: Sequence[float]
    ) -> list[dict[str, Any]]:
        """Returns the n-best answers of a row; `candidates` come best first."""
        settings = self.settings
        logits_of: dict[str, Sequence[float]] = {}
        for start, end, *logits in candidates:
            logits_of.setdefault(
                re.sub(_SPACES, " ", context[start:end]), logits
            )
            if len(logits_of) == settings.n_best_size:
                break
        n_best = list(logits_of.items())
        if settings.answers_may_be_missing:
            rank = sum(sum(logits) >= sum(null) for _, logits in n_best)
            n_best.insert(rank, ("", null))
            # "No answer" stays even if `n_best_size` answers are better.
            n_best = n_best[: max(settings.n_best_size, rank + 1)]
        elif not n_best:
            n_best = [("", null)]
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


def _sum(start_logits: tf.Tensor, end_logits: tf.Tensor) -> tf.Tensor:
    # In float64, as the reference adds in Python.
    return tf.cast(start_logits, tf.float64) + tf.cast(end_logits, tf.float64)


def _sort(
    columns: Iterable[tf.Tensor],
    scores: tf.Tensor,
    rows: tf.Tensor,
    num_rows: int | tf.Tensor,
) -> Columns:
    """Returns columns [N] as rows [B, (values)], highest score first."""
    order = tf.argsort(scores, direction="DESCENDING", stable=True)
    order = tf.gather(order, tf.argsort(tf.gather(rows, order), stable=True))
    rows = tf.gather(rows, order)
    return [
        tf.RaggedTensor.from_value_rowids(tf.gather(x, order), rows, num_rows)
        for x in columns
    ]


def _first(values: tf.RaggedTensor) -> tf.Tensor:
    """Returns the first value of each row, or 0 for an empty row."""
    return values[:, :1].to_tensor(shape=[None, 1])[:, 0]


def _rows(columns: Columns) -> Iterator[Iterator[tuple]]:
    """Yields, for each row, an iterator over its items as tuples."""
    for row in zip(*(x.to_list() for x in columns), strict=True):
        yield zip(*row, strict=True)

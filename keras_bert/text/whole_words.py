"""Chooses whole words, and n-grams of words, at random."""

from __future__ import annotations

import tensorflow as tf

from keras_bert.text.row_random import row_bits, to_order, to_uniform


def choose_spans(
    candidate: tf.Tensor,
    continues_word: tf.Tensor,
    num_to_predict: tf.Tensor,
    seeds: tf.Tensor,
    max_ngram_size: int,
    max_predictions: int,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Chooses spans of whole words, of at most `num_to_predict` [B] tokens.

    A word is a piece without ## and all following pieces with ##. After [CLS],
    [SEP] or a cut, a piece with ## also starts a word. Spans are tried in a
    random order; a span that would exceed the number, or contains a chosen
    word, is skipped.

    Args:
        candidate: Bool [B, S], whether a token may be chosen.
        continues_word: Bool [B, S], whether a piece begins with ##.
        num_to_predict: Int32 [B], the number of tokens to choose.
        seeds: Integers [B, any number].
        max_ngram_size: The most words of a span; n words have a weight of 1/n.
        max_predictions: P.

    Returns:
        Two int32 tensors [B, P]: the sorted positions of the chosen tokens,
        padded with S, and for each of them the position of the first token of
        its n-gram (without n-grams, its own position).
    """
    seq_length = tf.shape(candidate)[1]
    before = tf.pad(candidate[:, :-1], [[0, 0], [1, 0]])
    begins = candidate & ~(continues_word & before)
    word = tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1  # [B, S]
    word = tf.where(candidate, word, seq_length)
    sizes, starts = _words(word, seq_length)  # [B, W], W = S words at most

    spans = _ngrams(sizes, starts, max_ngram_size)  # tokens, [B, W * N]
    order = _random_order(spans, seeds, max_ngram_size)
    first_words = _take(
        spans, order, num_to_predict, seq_length, max_ngram_size
    )  # [B, W]

    first_words = tf.pad(first_words, [[0, 0], [0, 1]], constant_values=-1)
    first_word = tf.gather(first_words, word, batch_dims=1)  # [B, S]
    positions = positions_of(first_word >= 0, max_predictions)
    if max_ngram_size == 1:
        return positions, positions
    starts = tf.gather(starts, tf.maximum(first_word, 0), batch_dims=1)
    starts = tf.pad(starts, [[0, 0], [0, 1]])
    return positions, tf.gather(starts, positions, batch_dims=1)


def positions_of(chosen: tf.Tensor, max_predictions: int) -> tf.Tensor:
    """Bool [B, S] -> the first P positions that are True, padded with S.

    Int32 [B, P], with `max_predictions` as P.
    """
    num_rows, seq_length = tf.unstack(tf.shape(chosen))
    places = tf.where(chosen)  # (row, position)
    return tf.RaggedTensor.from_value_rowids(
        tf.cast(places[:, 1], tf.int32),
        places[:, 0],
        nrows=tf.cast(num_rows, tf.int64),
        validate=False,
    ).to_tensor(seq_length, shape=[None, max_predictions])


def _words(word, seq_length):
    """Returns the number of tokens and the first position of words, [B, W]."""
    slots = seq_length + 1  # the last one is for tokens outside of words
    sizes = tf.math.bincount(word, minlength=slots, maxlength=slots, axis=-1)
    num_rows = tf.shape(word)[0]
    starts = tf.math.unsorted_segment_min(
        tf.broadcast_to(tf.range(seq_length), tf.shape(word)),
        word + tf.range(num_rows)[:, None] * slots,
        num_rows * slots,
    )
    starts = tf.reshape(starts, [num_rows, slots])
    return sizes[:, :-1], starts[:, :-1]


def _ngrams(sizes, starts, max_ngram_size):
    """Returns the sizes of n-grams by their first words, 0 for no n-gram.

    [B, N * W], in tokens: first the single words, then the pairs, and so on.
    """
    ngrams, total = [sizes], sizes
    for n in range(1, max_ngram_size):
        next_size = tf.pad(sizes[:, n:], [[0, 0], [0, n]])
        next_start = tf.pad(starts[:, n:], [[0, 0], [0, n]])
        touches = (total > 0) & (next_size > 0) & (starts + total == next_start)
        total = tf.where(touches, total + next_size, 0)
        ngrams.append(total)
    return tf.concat(ngrams, axis=1)


def _random_order(spans, seeds, max_ngram_size):
    """Returns indices of spans [B, N * W] in the order of trying them.

    The rule is: draw n with a weight of 1/n, then one of the remaining
    n-grams, until none remains. It has the same distribution as n-grams that
    arrive at the rate 1/n, shuffled for each n.
    """
    num_spans = tf.shape(spans)[1]
    order = to_order(row_bits(seeds, 0, tf.range(num_spans)))
    # Spans that do not exist come last.
    order = tf.where(spans > 0, order, order.dtype.max)
    if max_ngram_size == 1:
        return tf.argsort(order, axis=1)
    shape = [tf.shape(spans)[0], max_ngram_size, num_spans // max_ngram_size]
    rank = tf.argsort(tf.argsort(tf.reshape(order, shape), axis=2), axis=2)
    gaps = -tf.math.log1p(-to_uniform(row_bits(seeds, 3, tf.range(num_spans))))
    rate = 1.0 / tf.range(1.0, max_ngram_size + 1.0)
    arrivals = tf.cumsum(tf.reshape(gaps, shape), axis=2) / rate[:, None]
    arrivals = tf.reshape(
        tf.gather(arrivals, rank, batch_dims=2), tf.shape(spans)
    )
    return tf.argsort(tf.where(spans > 0, arrivals, arrivals.dtype.max), axis=1)


def _take(spans, order, num_to_predict, num_words, max_ngram_size):
    """Returns [B, W]: the first word of the word's chosen span, or -1."""
    tokens = tf.gather(spans, order, batch_dims=1)  # [B, N * W]
    num_steps = tf.reduce_max(
        tf.reduce_sum(tf.cast(tokens > 0, tf.int32), axis=1)
    )
    begins = order % num_words
    ends = begins + 1 + order // num_words
    words = tf.range(num_words)

    def not_done(step, total, _):
        return (step < num_steps) & tf.reduce_any(total < num_to_predict)

    def take(step, total, first_words):
        size, begin, end = tokens[:, step], begins[:, step], ends[:, step]
        inside = (words >= begin[:, None]) & (words < end[:, None])
        fits = (size > 0) & (total + size <= num_to_predict)
        if max_ngram_size > 1:
            fits &= ~tf.reduce_any(inside & (first_words >= 0), axis=1)
        return (
            step + 1,
            total + tf.where(fits, size, 0),
            tf.where(inside & fits[:, None], begin[:, None], first_words),
        )

    none = tf.zeros_like(num_to_predict)
    start = (0, none, tf.fill(tf.shape(tokens[:, :num_words]), -1))
    return tf.while_loop(not_done, take, start, parallel_iterations=1)[2]

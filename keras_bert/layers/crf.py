"""Linear-chain CRF: a label for each word, chosen together with all others.

The score of a sequence of labels is the sum of the logits of its words and of
the transitions between neighbors (Lample et al. 2016, arXiv 1603.01360, section
2.2, but without labels for the start and the end). A softmax over the scores of
all sequences of labels gives their probabilities.
"""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="keras_bert")
class Crf(keras.layers.Layer):
    """Logits [B, S, L] -> a chain, float32 [B, L + S, L].

    The first L rows of a chain are the weight `transitions`: row i, column j is
    the score of label j after label i. The logits follow. So one output
    contains all that a loss or a decoder needs.
    """

    def build(self, logits_shape: Any) -> None:
        size = logits_shape[-1]
        self.transitions = self.add_weight(
            name="transitions", shape=(size, size), initializer="zeros"
        )

    def call(self, logits: Any) -> Any:
        size = logits.shape[-1]
        shape = (ops.shape(logits)[0], size, size)
        transitions = ops.broadcast_to(self.transitions, shape)
        return ops.concatenate([transitions, logits], axis=1)

    def compute_mask(self, logits: Any, previous_mask: Any) -> Any:
        return None  # a BiLSTM's mask has no entries for transitions

    def compute_output_spec(self, logits: Any) -> Any:
        batch, length, size = logits.shape
        length = None if length is None else size + length
        return keras.KerasTensor((batch, length, size), logits.dtype)


def crf_loss(labels: Any, chain: Any) -> Any:
    """Returns -log of the probability of labels [B, S], split among the words.

    A label is 0 at a token that is not a word, and otherwise from 1 to L.
    The neighbor of a word is the next word, however many tokens are between
    the two. In the result [B, S], each word has an equal share of the loss of
    its row, and other tokens have 0.
    """
    labels = ops.cast(labels, "int32")
    size, length = chain.shape[-1], ops.shape(labels)[1]
    transitions, logits = chain[:, :size], chain[:, size:]
    is_labeled = ops.cast(labels > 0, "float32")
    # From here on, the words of each row come first, in their old order.
    places = ops.arange(length, dtype="int32")
    order = ops.argsort(ops.where(labels > 0, places, places + length), axis=1)
    labels = ops.take_along_axis(labels, order, axis=1)
    logits = ops.take_along_axis(logits, ops.expand_dims(order, 2), axis=1)
    is_word = labels > 0
    # Counts of each label at each word, and of each pair of labels. First the
    # counts in the given labels (`gold`), and then the expected counts.
    gold = ops.one_hot(labels - 1, size)  # zeros where there is no word
    gold_pairs = ops.matmul(ops.swapaxes(gold[:, :-1], 1, 2), gold[:, 1:])
    before, after = _around(logits, is_word, transitions)
    left, right = logits + before, logits + after
    log_total = ops.logsumexp(left[:, 0] + after[:, 0], axis=1)
    words = ops.softmax(left + after) * ops.sum(gold, 2, keepdims=True)
    pairs = ops.exp(
        ops.expand_dims(left[:, :-1], 3)
        + ops.expand_dims(transitions, 1)
        + ops.expand_dims(right[:, 1:], 2)
        - ops.reshape(log_total, (-1, 1, 1, 1))
    )  # [B, S - 1, L, L]
    is_pair = ops.reshape(is_word[:, 1:], (-1, length - 1, 1, 1))
    pairs = ops.sum(ops.where(is_pair, pairs, 0.0), axis=1)

    def score(words: Any, pairs: Any) -> Any:
        of_words = ops.sum(words * logits, axis=(1, 2))
        return of_words + ops.sum(pairs * transitions, axis=(1, 2))

    # The gradient is the expected counts minus the counts in the given labels.
    # So no gradient has to pass through the loops: in TensorFlow, XLA does not
    # support gradients of these loops.
    slope = score(
        ops.stop_gradient(words - gold), ops.stop_gradient(pairs - gold_pairs)
    )
    loss = ops.stop_gradient(log_total - score(gold, gold_pairs) - slope)
    num_words = ops.maximum(ops.sum(is_labeled, axis=1), 1.0)
    return ops.expand_dims((loss + slope) / num_words, 1) * is_labeled


def viterbi(logits: Any, is_word: Any, transitions: Any) -> Any:
    """Returns the most probable 0-based labels of the words, int32 [B, S].

    Takes logits [B, S, L], in which the words of a row come first; `is_word`
    [B, S], which is true for the words; and transitions [B, L, L] or [1, L, L].
    In the result, the entries after the last word of a row are meaningless.
    """
    after = _messages(logits, is_word, transitions, ops.max)

    def choose(scores: Any, token: Any) -> Any:
        label = ops.argmax(scores + token, axis=1)
        label = ops.one_hot(label, logits.shape[-1])
        return ops.sum(label[:, :, None] * transitions, axis=1), label

    none = ops.zeros_like(logits[:, 0])
    _, labels = ops.scan(choose, none, _turn(logits + after))
    return ops.cast(ops.argmax(_turn(labels), axis=2), "int32")


def marginals(logits: Any, is_word: Any, transitions: Any) -> Any:
    """Returns the probability of each label at each word, [B, S, L].

    It is the sum of the probabilities of all label sequences that have the
    label at the word. Takes the arguments of `viterbi`.
    """
    before, after = _around(logits, is_word, transitions)
    return ops.softmax(logits + before + after)


def _around(logits: Any, is_word: Any, transitions: Any) -> Any:
    """Returns the `_messages` from the words before and after each word."""
    before = _messages(
        ops.flip(logits, 1),
        ops.flip(is_word, 1),
        ops.swapaxes(transitions, 1, 2),
    )
    return ops.flip(before, 1), _messages(logits, is_word, transitions)


def _messages(
    logits: Any, is_word: Any, transitions: Any, join: Any = ops.logsumexp
) -> Any:
    """Returns the score of what can follow each label at each word, [B, S, L].

    What can follow is a set of label sequences. `join` makes one score from the
    scores of these sequences: their log-sum-exp or their maximum.
    """

    def step(after: Any, token: Any) -> Any:
        scores, is_word = token[:, :-1], token[:, -1:] > 0
        joined = join(transitions + (scores + after)[:, None, :], axis=2)
        return ops.where(is_word, joined, after), after

    # One tensor, because Keras' scan takes only one if S is unknown.
    is_word = ops.cast(ops.expand_dims(is_word, 2), logits.dtype)
    tokens = ops.concatenate([logits, is_word], axis=2)
    none = ops.zeros_like(logits[:, 0])
    return _turn(ops.scan(step, none, _turn(tokens), reverse=True)[1])


def _turn(x: Any) -> Any:
    return ops.swapaxes(x, 0, 1)

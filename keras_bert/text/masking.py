"""Which tokens the masked LM has to guess, and what stands in their place."""

from __future__ import annotations

import tensorflow as tf

from keras_bert.text.tokenizer import BertTokenizer


class MaskedLMMasker(tf.Module):
    """Chooses and replaces tokens (paper, 3.1 and appendix C.2).

    Of a text of n tokens, special ones counted, round(n * masked_lm_prob) are
    chosen, at least 1 and at most `max_predictions_per_seq`; never [CLS] or
    [SEP]. Of those, `mask_rate` become [MASK], `random_rate` a random id of
    the vocabulary, and the rest stay. With `whole_word`, a word is chosen
    with all its pieces, or skipped where it would exceed the number; each of
    its pieces is still replaced on its own.
    """

    def __init__(
        self,
        tokenizer: BertTokenizer,
        *,
        max_predictions_per_seq: int = 20,
        masked_lm_prob: float = 0.15,
        mask_rate: float = 0.8,
        random_rate: float = 0.1,
        whole_word: bool = False,
    ):
        super().__init__(name="masked_lm_masker")
        if min(mask_rate, random_rate) < 0 or mask_rate + random_rate > 1:
            raise ValueError(
                f"mask_rate {mask_rate} and random_rate {random_rate} must "
                "not be negative, and together at most 1; the paper has 0.8 "
                "and 0.1."
            )
        if not 0 < masked_lm_prob < 1:
            raise ValueError(
                f"masked_lm_prob is {masked_lm_prob}, but must lie between 0 "
                "and 1; the paper has 0.15."
            )
        self._max_predictions = max_predictions_per_seq
        self._masked_lm_prob = masked_lm_prob
        self._mask_rate = mask_rate
        self._random_rate = random_rate
        self._mask_id = tokenizer.mask_id
        self._never_masked = (tokenizer.cls_id, tokenizer.sep_id)
        self._vocab_size = tokenizer.vocab_size
        self._continues_word = tf.constant(
            [whole_word and t.startswith("##") for t in tokenizer.vocab]
        )

    def __call__(
        self, features: dict[str, tf.Tensor], seed: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Masks a batch; the same seed, int [2], draws the same masks.

        `features` has `input_ids` and `input_mask`, int32 [B, S]. Returns all
        features with `input_ids` replaced and, added, int32
        `masked_lm_positions` and `masked_lm_ids` and float32
        `masked_lm_weights`, all [B, P], in the order of the text.
        """
        input_ids = features["input_ids"]
        seeds = tf.random.split(seed, 3)
        chosen = self._choose(input_ids, features["input_mask"], seeds[0])

        # The chosen come first, in the order of the text: top_k is stable.
        padded = tf.pad(
            tf.cast(chosen, tf.int32), [[0, 0], [0, self._max_predictions]]
        )
        weights, positions = tf.math.top_k(padded, self._max_predictions)
        positions *= weights  # [B, P], 0 where there is no more
        ids = tf.gather(input_ids, positions, batch_dims=1) * weights

        draw = tf.random.stateless_uniform(tf.shape(input_ids), seeds[1])
        random_ids = tf.random.stateless_uniform(
            tf.shape(input_ids), seeds[2], 0, self._vocab_size, tf.int32
        )
        replaced = tf.where(
            draw < self._mask_rate,
            self._mask_id,
            tf.where(
                draw < self._mask_rate + self._random_rate,
                random_ids,
                input_ids,
            ),
        )
        return features | {
            "input_ids": tf.where(chosen, replaced, input_ids),
            "masked_lm_positions": positions,
            "masked_lm_ids": ids,
            "masked_lm_weights": tf.cast(weights, tf.float32),
        }

    def _choose(self, input_ids, input_mask, seed):
        """Returns bool [B, S], True where a token is to be guessed."""
        candidate = input_mask > 0
        for special in self._never_masked:
            candidate &= input_ids != special
        # A word is a piece without ## and all with ## behind it; a text cut
        # at its front may begin with ##, which then begins a word.
        continues = tf.gather(self._continues_word, input_ids) & candidate
        first = tf.cumsum(tf.cast(candidate, tf.int32), axis=1) == 1
        begins = candidate & (first | ~continues)
        word = tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1  # [B, S]

        num_tokens = tf.reduce_sum(input_mask, axis=1)
        # In float64, so that a half rounds to even as it does in Python.
        num_to_predict = tf.clip_by_value(
            tf.cast(
                tf.round(
                    tf.cast(num_tokens, tf.float64) * self._masked_lm_prob
                ),
                tf.int32,
            ),
            1,
            self._max_predictions,
        )

        # Word w of row b has word_sizes[b, w] pieces; words are taken in a
        # random order as long as they fit.
        slots = tf.shape(input_ids)[1]
        word_sizes = tf.math.bincount(
            tf.where(candidate, word, slots),
            minlength=slots + 1,
            maxlength=slots + 1,
            axis=-1,
        )[:, :slots]
        order = tf.argsort(
            tf.random.stateless_uniform(tf.shape(input_ids), seed), axis=1
        )
        sizes = tf.gather(word_sizes, order, batch_dims=1)  # [B, S]

        def take(state, size):
            total, _ = state
            taken = (size > 0) & (total + size <= num_to_predict)
            return total + tf.where(taken, size, 0), taken

        none = tf.zeros_like(num_tokens)
        _, taken = tf.scan(take, tf.transpose(sizes), (none, none > 0))
        # Back from the random order to the order of the words.
        taken = tf.gather(
            tf.transpose(taken), tf.argsort(order, axis=1), batch_dims=1
        )
        return candidate & tf.gather(taken, tf.maximum(word, 0), batch_dims=1)

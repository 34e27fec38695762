"""A model and a text -> how much each token of the text changed the answer."""

import dataclasses
import html
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.errors import InputError
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.network_calls import Tensors
from keras_bert.kinds.text_kind import TextKind
from keras_bert.tasks.base import Row
from keras_bert.training.distribution import require_tensorflow

# The numbers of steps to try from a text of [MASK] to the whole text. The first
# number is enough for most networks; a larger number is tried if the error of
# the sum of the attributions exceeds the tolerance.
_NUM_STEPS = 64, 256, 1024
_STEPS_AT_ONCE = 64
_TOLERANCE = 0.01
# Two colors that readers with any color vision can tell apart.
_FOR, _AGAINST = "31, 119, 180", "230, 126, 34"


@dataclasses.dataclass(frozen=True)
class Explanation:
    """How much each token of a text changed the answer of a model.

    A notebook shows an explanation in colors: blue tokens speak for the label
    or a larger number, and orange tokens speak against it.

    Attributes:
        row: The text or the texts, by field.
        label: The label that is explained; None if the answer is a number.
        score: The log-odds of the label, or the number before it is clipped to
            its range.
        baseline_score: The score of a text whose tokens are all [MASK].
        tokens: Dicts in text order, each with a `token`; its `field`; its
            `start` and `end`, in characters; and its `attribution`. The
            attributions add up to `score - baseline_score`.
        truncated: Whether a text was too long. Then its end was not read, and
            `tokens` lacks it.

    Example:
        >>> model = keras_bert.load_finetuned("finetuned")
        >>> explanation = model.explain("a very good film", label="1")
        >>> [token["token"] for token in explanation.tokens]
        ['a', 'very', 'good', 'film']
        >>> explanation.to_html().count("<span")
        4
    """

    row: Row
    label: str | None
    score: float
    baseline_score: float
    tokens: list[dict[str, Any]]
    truncated: bool

    def to_html(self) -> str:
        """Returns the texts as HTML; a token's color shows its attribution.

        The token with the largest attribution has the strongest color.
        """
        spans = self._spans()
        largest = max((abs(value) for *_, value in spans), default=0)
        parts = []
        for field in dict.fromkeys(field for field, *_ in spans):
            text, before, pieces = self.row[field], 0, []
            for _, start, end, value in (x for x in spans if x[0] == field):
                color = _FOR if value > 0 else _AGAINST
                strength = abs(value) / largest if largest else 0
                pieces += [
                    html.escape(text[before:start]),
                    f'<span style="background: rgba({color}, {strength:.2f})" '
                    f'title="{value:+.3f}">',
                    html.escape(text[start:end]),
                    "</span>",
                ]
                before = end
            pieces.append(html.escape(text[before:]))
            parts.append(f"<p>{''.join(pieces)}</p>")
        of_label = "" if self.label is None else f"{html.escape(self.label)}: "
        return f"<p><b>{of_label}{self.score:+.2f}</b></p>{''.join(parts)}"

    def _spans(self) -> list[tuple[str, int, int, float]]:
        """Returns (field, start, end, attribution) for each part of the texts.

        A part is a token, or several tokens that share a character.
        """
        spans: list[tuple[str, int, int, float]] = []
        for token in self.tokens:
            field, start, end = token["field"], token["start"], token["end"]
            value = token["attribution"]
            if spans and spans[-1][0] == field and start < spans[-1][2]:
                _, start, before, first = spans.pop()
                end, value = max(before, end), first + value
            spans.append((field, start, end, value))
        return spans

    _repr_html_ = to_html


def explain_row(
    model: keras.Model, kind: Kind, row: Row, label: str | None = None
) -> Explanation:
    """Returns the explanation of one answer, by integrated gradients.

    The gradients of the score are added up along the straight line from the
    embeddings of a text whose tokens are all [MASK] to the embeddings of the
    text (Sundararajan et al. 2017, arXiv 1703.01365, equation 1). [CLS] and
    [SEP] are the same in both texts, so the attributions of the other tokens
    add up to the whole difference of the scores.

    Args:
        model: The network of the kind.
        kind: A kind with one answer for a text or a pair of texts.
        row: A value for each text field.
        label: The label to explain; by default, the label with the highest
            score.

    Raises InputError if the kind, the text or the label does not fit.
    """
    require_tensorflow()
    if not isinstance(kind, TextKind):
        raise InputError(
            f"The model is of the kind {kind.name}, whose answer is more "
            "than one label or number; explain takes a classifier, a "
            "regressor or a reranker."
        )
    settings: Any = kind.spec.settings
    if settings.in_windows:
        raise InputError(
            "The model reads texts in windows; load it with "
            'settings={"window_pooling": "none"} to explain its answers.'
        )
    if settings.default_prompt:
        raise InputError(
            "The model puts a prompt before a text; load it with "
            'settings={"default_prompt_name": ""} to explain its answers.'
        )
    labels = kind.spec.labels
    if label is not None and label not in labels:
        known = ", ".join(labels) or "none, because it answers with a number"
        raise InputError(
            f"The model has no label {label!r}; its labels are {known}."
        )
    examples = kind.encode([row], labeled=False)
    features, *_ = examples.batch(tf.constant([0]))
    network = keras.Model(model.input, model.output["logits"])
    if labels and label is None:
        label = labels[int(np.argmax(network(features, training=False)[0]))]
    place = labels.index(label) if label is not None else 0

    def score(logits: tf.Tensor) -> tf.Tensor:
        # Labels in a list do not exclude each other.
        if len(labels) < 2 or kind.label_is_list:
            return logits[:, place]
        others = [i for i in range(len(labels)) if i != place]
        others = tf.reduce_logsumexp(tf.gather(logits, others, axis=1), axis=1)
        return logits[:, place] - others

    tokens = _locate(kind, row)
    places = [token.pop("place") for token in tokens]
    attributions, ends = _integrate(
        model, features, places, kind.tokenizer.mask_id, score
    )
    for token, value in zip(tokens, attributions, strict=True):
        token["attribution"] = value
    (read,) = examples.truncation_info()
    return Explanation(row, label, ends[1], ends[0], tokens, read["truncated"])


def _locate(kind: TextKind, row: Row) -> list[dict[str, Any]]:
    """Returns the tokens that the network reads, each with its span."""
    tokens: list[dict[str, Any]] = []
    numbers = []
    for field in kind.spec.text_fields:
        found = kind.tokenizer.tokenize_with_offsets([row[field]])
        columns = (
            x[0].numpy()
            for x in (found.ids, found.start_chars, found.end_chars)
        )
        first = len(tokens) + 1
        for id_, start, end in zip(*columns, strict=True):
            tokens.append(
                {
                    "token": kind.tokenizer.vocab[id_],
                    "field": field,
                    "start": int(start),
                    "end": int(end),
                }
            )
        numbers.append(-tf.ragged.range([first], len(tokens) + 1))
    # Negative numbers are packed like ids. They show which tokens are read, and
    # at which positions.
    packed = kind.preprocessor.pack_ids(numbers)
    places = enumerate(packed.features["input_ids"][0].numpy())
    return [tokens[-i - 1] | {"place": place} for place, i in places if i < 0]


def _integrate(
    model: keras.Model,
    features: Tensors,
    places: Sequence[int],
    mask_id: int,
    score: Callable[[tf.Tensor], tf.Tensor],
) -> tuple[list[float], list[float]]:
    """Returns the attributions at the positions `places`, and two scores.

    The scores are those of the text of [MASK] and of the whole text.
    """
    embed = model.get_layer("embeddings")
    rest = keras.Model(
        [embed.output[0], model.input["input_mask"]], model.output["logits"]
    )
    ids = features["input_ids"].numpy()
    masked = ids.copy()
    masked[0, places] = mask_id
    start, end = (
        embed(x, features["segment_ids"])[0] for x in (masked, ids)
    )  # [1, S, H]
    mask = tf.repeat(features["input_mask"], _STEPS_AT_ONCE, axis=0)
    ends = tf.concat([start, end], axis=0)
    ends = score(rest([ends, mask[:2]], training=False)).numpy()
    difference = ends[1] - ends[0]
    for num_steps in _NUM_STEPS:
        total = tf.zeros_like(start)
        steps = (tf.range(num_steps, dtype=start.dtype) + 0.5) / num_steps
        for some in tf.split(steps, num_steps // _STEPS_AT_ONCE):
            way = start + some[:, None, None] * (end - start)
            with tf.GradientTape() as tape:
                tape.watch(way)
                scores = score(rest([way, mask], training=False))
            total += tf.reduce_sum(tape.gradient(scores, way), 0, keepdims=True)
        attributions = tf.reduce_sum((end - start) * total / num_steps, -1)
        own = attributions[0].numpy()[np.array(places, int)]
        if abs(own.sum() - difference) <= _TOLERANCE * abs(difference) + 1e-4:
            break
    else:
        logging.warning(
            "The attributions add up to %.3f, but the scores differ by %.3f: "
            "this network needs more steps than explain takes. "
            "Trust the signs, not the numbers.",
            own.sum(),
            difference,
        )
    return own.tolist(), ends.tolist()

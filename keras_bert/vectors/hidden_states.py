"""Texts -> the hidden states of chosen layers for each token, as JSON lines.

The paper's feature-based use (section 5.3). A line has the form of
google-research/bert, extract_features.py: `linex_index`, and for each token its
`token` and the `values` of its `layers`, with six decimals.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.models.hidden_states import with_hidden_states
from keras_bert.vectors.embedder import Embedder


class HiddenStates:
    """Computes the outputs of layers of an embedder's encoder."""

    def __init__(self, embedder: Embedder, layers: Sequence[int]):
        """Takes numbers of layers: -1 is the last one, 0 the first one.

        Raises InputError if there is no such layer, or the model reads long
        texts in windows.
        """
        if embedder.settings.in_windows:
            raise InputError(
                "The model reads long texts in windows, so a token may have "
                "several hidden states; give a model with window_pooling none."
            )
        (encoder,) = (
            x for x in embedder.model.layers if isinstance(x, keras.Model)
        )
        count = sum(x.name.startswith("layer_") for x in encoder.layers)
        for number in layers:
            if number not in range(-count, count):
                raise InputError(
                    f"There is no layer {number}: the model has {count}, from "
                    f"{-count} to -1, or from 0 to {count - 1}."
                )
        self._embedder, self._layers = embedder, layers
        numbers = [number % count + 1 for number in layers]
        network = with_hidden_states(
            keras.Model(encoder.input, {"sequence_output": encoder.output}),
            numbers,
        )

        @tf.function(autograph=False, reduce_retracing=True)
        def compute(features):
            outputs = network(features, training=False)
            return tf.stack([outputs[f"hidden_{i}"] for i in numbers], axis=2)

        self._compute = compute

    def json_lines(
        self,
        texts: Sequence[str],
        *,
        prompt: str,
        batch_size: int,
        first_index: int,
    ) -> tuple[str, np.ndarray]:
        """Returns a line for each text, and whether the text was cut, bool [N].

        A text is also a pair of texts, as `A ||| B`.
        """
        examples = [text.strip().rsplit(" ||| ", 1) for text in texts]
        lines = [""] * len(texts)
        truncated = np.zeros(len(texts), bool)
        for pairs in (False, True):
            numbers = [
                i for i, x in enumerate(examples) if (len(x) == 2) == pairs
            ]
            if not numbers:
                continue
            first, *second = zip(*(examples[i] for i in numbers), strict=True)
            batches = self._embedder.batches(
                [prompt + text for text in first], *second, size=batch_size
            )
            for places, batch, are_cut in batches:
                rows = {name: x[:, 0] for name, x in batch.items()}  # [B, S]
                states = self._compute(rows).numpy()  # [B, S, layers, H]
                ids = rows["input_ids"].numpy()
                sizes = tf.reduce_sum(rows["input_mask"], axis=1).numpy()
                for i, place in enumerate(places):
                    number, size = numbers[place], sizes[i]
                    truncated[number] = are_cut[i]
                    lines[number] = self._json_line(
                        first_index + number, ids[i, :size], states[i, :size]
                    )
        return "".join(lines), truncated

    def _json_line(self, index, ids, states):
        # From float32, rounding would leave more than six decimals.
        states = np.round(states.astype("float64"), 6).tolist()
        tokens = self._embedder.preprocessor.tokenizer.tokens(ids)
        features = [
            {
                "token": token,
                "layers": [
                    {"index": number, "values": values}
                    for number, values in zip(self._layers, x, strict=True)
                ],
            }
            for token, x in zip(tokens, states, strict=True)
        ]
        return json.dumps({"linex_index": index, "features": features}) + "\n"

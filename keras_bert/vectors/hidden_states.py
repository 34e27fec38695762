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
from keras_bert.models.rewired import with_hidden_states
from keras_bert.text.packing import pad
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
        names = {x.name for x in encoder.layers}
        count = sum(f"layer_{i}" in names for i in range(len(names)))
        for number in layers:
            if number not in range(-count, count):
                raise InputError(
                    f"There is no layer {number}: the model has {count}, from "
                    f"{-count} to -1, or from 0 to {count - 1}."
                )
        self._layers = layers
        self._preprocessor = embedder.preprocessor
        numbers = [number % count + 1 for number in layers]
        model = with_hidden_states(
            keras.Model(encoder.input, {"sequence_output": encoder.output}),
            numbers,
        )

        def compute(features):
            outputs = model(features, training=False)
            return tf.stack([outputs[f"hidden_{i}"] for i in numbers], axis=2)

        specs = {
            name: tf.TensorSpec([None, None], tf.int32, name)
            for name in encoder.input
        }
        self._compute = tf.function(compute, [specs], autograph=False)

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
        rows = [text.strip().rsplit(" ||| ", 1) for text in texts]
        lines = [""] * len(rows)
        truncated = np.zeros(len(rows), bool)
        for num_texts in (1, 2):
            places = [i for i, x in enumerate(rows) if len(x) == num_texts]
            if not places:
                continue
            first, *second = zip(*(rows[i] for i in places), strict=True)
            columns = [[prompt + text for text in first], *second]
            packed = self._preprocessor.pack(*map(tf.constant, columns))
            truncated[places] = packed.truncated
            ids = packed.features["input_ids"]
            order = np.argsort(ids.row_lengths(), kind="stable")
            for batch in np.split(
                order, range(batch_size, len(order), batch_size)
            ):
                features = {
                    name: tf.gather(x, batch)
                    for name, x in packed.features.items()
                }
                states = self._compute(pad(features)).numpy()
                for number, values in zip(batch, states, strict=True):
                    place = places[number]
                    lines[place] = self._json_line(
                        first_index + place, ids[number].numpy(), values
                    )
        return "".join(lines), truncated

    def _json_line(self, index, ids, states):
        # From float32, rounding would leave more than six decimals.
        states = np.round(states.astype("float64"), 6)  # [S, layers, H]
        features = [
            {
                "token": token,
                "layers": [
                    {"index": number, "values": values.tolist()}
                    for number, values in zip(self._layers, x, strict=True)
                ],
            }
            # The states of padding come last.
            for token, x in zip(
                self._preprocessor.tokenizer.tokens(ids), states, strict=False
            )
        ]
        return json.dumps({"linex_index": index, "features": features}) + "\n"

"""The base of the kinds that give one answer for a text or a pair of texts.

A `TextKind` turns rows into ids, in windows if the settings say so, and the
outputs of the network into served answers.
"""

from collections.abc import Sequence

import keras
import numpy as np
import tensorflow as tf
from tensorflow import saved_model

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import encode_columns, text_columns
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.network_calls import Tensors, call_on_texts
from keras_bert.kinds.signatures import Signature, one_graph
from keras_bert.models.window_pooling import pool_windows
from keras_bert.tasks.base import Row


class TextKind(Kind):
    """A kind with one answer for a text or a pair of texts.

    Its settings are `WindowSettings`, or other settings if the kind reads no
    windows. The SavedModel takes the text fields [B] and returns what
    `served_answer` computes from the network's outputs. Another signature
    follows TensorFlow Serving's Classify API if the kind has labels, or the
    Regress API if the main part of the kind's answer is `score`.
    """

    def _check(self) -> None:
        super()._check()
        fields, settings = self.spec.text_fields, self.spec.settings
        if settings.in_windows and len(fields) > 1:
            raise InputError(
                f"window_pooling is {settings.window_pooling}, but windows are "
                f"cut from one text and this task has the text_fields "
                f"{', '.join(fields)}; set window_pooling to none."
            )

    def build_network(self, bert_config: BertConfig) -> keras.Model:
        """Returns the network for texts that are not read in windows."""
        self._lacks("build_network")

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        model, settings = self.build_network(bert_config), self.spec.settings
        if not settings.in_windows:
            return model
        return pool_windows(model, settings.window_pooling)

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        labels = {}
        if labeled:
            (output,) = self.objectives
            gold = np.array(self.gold(rows))
            is_id = gold.dtype.kind in "iu"
            if is_id and gold.min() < 0:  # it would not be learned
                raise InputError(
                    f"The method gold of the kind {self.name} returned "
                    f"{gold.min()}, but integers are label ids, which begin "
                    "at 0; return floats if the labels are numbers."
                )
            labels[output] = tf.constant(
                gold, tf.int32 if is_id else tf.float32
            )
        first, *more = text_columns(rows, self.spec.text_fields)
        prompt = self.spec.settings.default_prompt
        columns = [[prompt + text for text in first], *more]
        return encode_columns(columns, self.preprocessor, labels)

    def signatures(self, model: keras.Model) -> dict[str, Signature]:
        call, prompt = call_on_texts(model), self.spec.settings.default_prompt

        def answer(*texts: tf.Tensor) -> Tensors:
            first, *more = texts
            if prompt:
                first = tf.strings.join([prompt, first])
            packed = self.preprocessor.pack(first, *more)
            outputs = call(packed.features)
            return {**self.served_answer(outputs), **packed.truncation_info()}

        def classify(*texts: tf.Tensor) -> Tensors:
            scores = answer(*texts)["scores"]
            classes = tf.broadcast_to(tf.constant(labels), tf.shape(scores))
            return {
                saved_model.CLASSIFY_OUTPUT_CLASSES: classes,
                saved_model.CLASSIFY_OUTPUT_SCORES: scores,
            }

        def regress(*texts: tf.Tensor) -> Tensors:
            return {saved_model.REGRESS_OUTPUTS: answer(*texts)["score"]}

        inputs, labels = self.string_inputs(), self.spec.labels
        answer = one_graph(answer, inputs)
        by_label = ("scores",) if labels else ()
        signatures = {"serving_default": Signature(answer, inputs, by_label)}
        if labels:
            method = saved_model.CLASSIFY_METHOD_NAME
            signatures["classify"] = Signature(classify, inputs, method=method)
        elif self.main_part == "score":
            method = saved_model.REGRESS_METHOD_NAME
            signatures["regress"] = Signature(regress, inputs, method=method)
        return signatures

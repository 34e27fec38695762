"""A text and several endings -> the best ending."""

from collections.abc import Sequence

import keras
import tensorflow as tf

from keras_bert.checkpoints.heads import MULTIPLE_CHOICE
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds.answers import NEVER
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import check_texts, encode_columns, numbered
from keras_bert.kinds.hub_config import HubNames
from keras_bert.kinds.kind import ONE_LABEL, Kind, library_metric
from keras_bert.kinds.network_calls import Tensors, call_in_pieces, pack_choices
from keras_bert.kinds.settings import LabelSmoothingSettings
from keras_bert.kinds.signatures import Signature
from keras_bert.models.heads import build_multiple_choice
from keras_bert.tasks.base import Row


class MultipleChoice(Kind):
    """Answers with `choice`, the 0-based index of an ending, and `scores`.

    The text fields are a text and a list of endings; all rows have the same
    number of endings. The label of a row is the index of the right ending, as a
    number or a string. The scores are the probabilities of the endings.

    The SavedModel takes the text [B] and the endings [B, C], and returns
    `choice`, int32 [B], and `scores` [B, C]. C may differ from its value in
    training. Empty endings at the end of a row are padding: their scores are 0.
    """

    name = "multiple_choice"
    Settings = LabelSmoothingSettings
    num_text_fields = (2,)
    metrics = {"accuracy": library_metric("sklearn.metrics", "accuracy_score")}
    main_part = "choice"
    objectives = ONE_LABEL
    hub = HubNames(
        "multiple-choice",
        heads=(MULTIPLE_CHOICE,),
        text_fields=("prompt", "choices"),
    )

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        return build_multiple_choice(bert_config, packed=True)

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        num_choices = self._num_choices(rows)
        labels = {"logits": tf.constant(self.gold(rows))} if labeled else {}
        context, field = self.spec.text_fields
        endings = [ending for row in rows for ending in row[field]]
        contexts = [row[context] for row in rows for _ in row[field]]
        pairs = encode_columns([contexts, endings], self.preprocessor)
        return pairs.grouped(num_choices, labels)

    def served_answer(self, outputs: Tensors) -> Tensors:
        scores = tf.nn.softmax(outputs["logits"])
        choice = tf.argmax(scores, axis=-1, output_type=tf.int32)
        return {"choice": choice, "scores": scores}

    def gold(self, rows: Sequence[Row]) -> list[int]:
        field = self.spec.text_fields[1]
        for number, row in numbered(rows):
            known = [str(i) for i in range(len(row[field]))]
            if str(row.get("label")) not in known:
                raise InputError(
                    f"Label {row.get('label')!r} of example {number} is not "
                    f"one of {', '.join(known)}, the indices of its {field}; "
                    "check the reader of the task."
                )
        return [int(row["label"]) for row in rows]

    def signatures(self, model: keras.Model) -> dict[str, Signature]:
        def answer(context: tf.Tensor, endings: tf.Tensor) -> Tensors:
            tokenizer = self.tokenizer
            num_rows, num_choices = tf.unstack(tf.shape(endings))
            rows = tf.repeat(tf.range(num_rows), num_choices)
            firsts = tf.gather(tokenizer(context), rows)
            seconds = tokenizer(tf.reshape(endings, [-1]))
            pairs = self.preprocessor.pack_ids([firsts, seconds])
            features = pack_choices(pairs.features, num_choices)
            logits = call_in_pieces(model, features)["logits"]
            # tf.Examples may differ in their number of endings.
            counts = tf.RaggedTensor.from_tensor(endings, padding="")
            is_ending = tf.sequence_mask(counts.row_lengths(), num_choices)
            logits = tf.where(is_ending, logits, NEVER)
            truncated, lengths = (
                tf.reshape(x, tf.shape(endings))
                for x in pairs.truncation_info().values()
            )
            lengths = tf.where(is_ending, lengths, 0)
            return self.served_answer({"logits": logits}) | {
                "truncated": tf.reduce_any(truncated, axis=1),
                "num_tokens": tf.reduce_sum(lengths, axis=1),
            }

        context, endings = self.string_inputs()
        endings = tf.TensorSpec([None, None], tf.string, endings.name)
        return {"serving_default": Signature(answer, [context, endings])}

    def _num_choices(self, rows: Sequence[Row]) -> int:
        context, field = self.spec.text_fields
        check_texts(rows, [context], lists=[field])
        num_choices = len(rows[0][field])
        for number, row in numbered(rows):
            count = len(row[field])
            if count < 2 or count != num_choices:
                raise InputError(
                    f"Example {number} has {count} {field}, but an example "
                    "must have at least two to choose from, and as many as "
                    f"the first example, {num_choices}."
                )
        return num_choices

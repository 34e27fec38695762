"""The part of a context that answers a question."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.finetuning.batches import Examples
from keras_bert.kinds.fields import check_fields, check_text
from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.span import metrics as squad_metrics
from keras_bert.kinds.span.decoding import best_answers, decode_windows
from keras_bert.kinds.span.labels import label_windows
from keras_bert.kinds.span.reports import (
    write_answer_lengths,
    write_prediction_files,
)
from keras_bert.kinds.span.windows import QuestionWindows, Windows
from keras_bert.models.span_labeler import build_span_labeler
from keras_bert.text.packing import pad
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.training_model import Objective

_ROWS_PER_CALL = 5_000
# The logit of padding, which is no candidate: what the model says of it
# depends on the rest of the batch.
_NEVER = -1e9


def _half_cross_entropy(labels, logits):
    # The loss is the mean of both outputs', as in google-research/bert.
    return cross_entropy(labels, logits) / 2


_OBJECTIVE = Objective(_half_cross_entropy, {"accuracy": accuracy})


class SpanHead(tf.Module):
    """Answers with `prediction`, a part of the context, or "" for none.

    Beside it stand `start` and `end`, its characters in the context; `score`,
    the sum of the logits of its first and last token; `null_odds`, by how
    much the score of no answer is higher; `text`, the best part of the
    context even where `prediction` is ""; and `nbest`, the best answers as
    google-research/bert writes them. White space within an answer becomes one
    space.

    Where `spec.answers_may_be_missing`, no answer is given where `null_odds`
    exceeds `spec.null_score_diff_threshold`. Elsewhere one always is, unless
    the context has no token.

    A long context goes through the model in windows; none of it is cut off.

    The SavedModel takes `question` and `context` [B] and returns `answer`,
    `score`, `start`, `end` and `null_odds` [B].
    """

    objectives = {"start_logits": _OBJECTIVE, "end_logits": _OBJECTIVE}

    def __init__(self, spec, tokenizer):
        super().__init__(name="span")
        for name in ("n_best_size", "max_answer_length"):
            if getattr(spec, name) < 1:
                raise InputError(
                    f"{name} is {getattr(spec, name)}, but must be at least 1."
                )
        self.spec = spec
        self.tokenizer = tokenizer
        self._windows = QuestionWindows(
            tokenizer,
            max_seq_length=spec.max_seq_length,
            doc_stride=spec.doc_stride,
            max_query_length=spec.max_query_length,
        )

    def build_model(self, bert_config):
        return build_span_labeler(bert_config)

    def encode(self, rows, *, labeled):
        texts = self._texts(rows)
        if labeled:
            self._gold(rows)
        chunks = []
        for i in range(0, len(rows), _ROWS_PER_CALL):
            chunk = slice(i, i + _ROWS_PER_CALL)
            windows = self._windows(*(tf.constant(t[chunk]) for t in texts))
            chunks.append(windows._replace(rows=windows.rows + i))
        windows = Windows(
            *(tf.concat(x, axis=0) for x in zip(*chunks, strict=True))
        )
        labels = {}
        if labeled:
            positions = label_windows(rows, windows, self.tokenizer)
            labels = {
                name: tf.constant(x)
                for name, x in zip(self.objectives, positions, strict=True)
            }
        return _SpanExamples(
            _features(windows),
            windows.rows.numpy(),
            labels,
            windows,
        )

    def decode(self, rows, examples, outputs):
        shape = [len(examples.rows), examples.lengths.max()]
        logits = []
        for name in self.objectives:
            dense = np.full(shape, _NEVER, "float32")
            for i, length in enumerate(examples.lengths):
                dense[i, :length] = outputs[name][i][:length]
            logits.append(dense)
        _, contexts = self._texts(rows)
        return decode_windows(
            contexts,
            examples.windows,
            *logits,
            spec=self.spec,
            unk_id=self.tokenizer.unk_id,
        )

    def score(self, rows, answers, metrics):
        gold = self._gold(rows)
        predicted = [answer["prediction"] for answer in answers]
        figures = {
            name: METRICS["span"][name](gold, predicted) for name in metrics
        }
        if not all(gold):
            figures |= squad_metrics.figures_of_missing_answers(
                gold,
                predicted,
                [answer["text"] for answer in answers],
                [answer["null_odds"] for answer in answers],
            )
        return figures

    def write_reports(self, folder, rows, answers):
        """Google's files, and `answer_lengths.tsv` and `.png`."""
        write_prediction_files(
            folder,
            [_name(row, number) for number, row in enumerate(rows, 1)],
            answers,
            with_null_odds=self.spec.answers_may_be_missing,
        )
        if all("label" in row for row in rows):
            write_answer_lengths(
                folder,
                self._gold(rows),
                [answer["prediction"] for answer in answers],
            )

    def signatures(self, model):
        def answer(question, context):
            # Bytes that are no UTF-8 are no characters either.
            context = tf.strings.unicode_transcode(
                context, "UTF-8", "UTF-8", errors="ignore"
            )
            windows = self._windows(question, context)
            features = pad(_features(windows))
            outputs = model(features)
            logits = (
                tf.where(features["input_mask"] == 1, outputs[name], _NEVER)
                for name in self.objectives
            )
            return best_answers(
                context,
                windows,
                *logits,
                spec=self.spec,
                unk_id=self.tokenizer.unk_id,
            )

        specs = [
            tf.TensorSpec([None], tf.string, name)
            for name in ("question", "context")
        ]
        return {"serving_default": (answer, specs)}

    def _texts(self, rows):
        """The questions and the contexts."""
        check_fields(rows, self.spec.text_fields)
        for number, row in enumerate(rows, 1):
            for field in self.spec.text_fields:
                name = f"The {field} of question {_name(row, number)}"
                check_text(row[field], name)
        return [[row[field] for row in rows] for field in self.spec.text_fields]

    def _gold(self, rows):
        """The texts of the gold answers to each question."""
        check_fields(rows, ["label"])
        for number, row in enumerate(rows, 1):
            if not isinstance(row["label"], (list, tuple)) or not all(
                isinstance(answer, dict)
                and isinstance(answer.get("text"), str)
                and isinstance(answer.get("answer_start"), int)
                for answer in row["label"]
            ):
                raise InputError(
                    f"The label of question {_name(row, number)} is "
                    f"{row['label']!r}; give a list of answers, each with "
                    "'text', a string, and 'answer_start', its place in the "
                    "context in characters."
                )
        return [[answer["text"] for answer in row["label"]] for row in rows]


@dataclasses.dataclass(frozen=True)
class _SpanExamples(Examples):
    """Each example is one of the windows."""

    windows: Windows | None = None


def _features(windows):
    return {
        "input_ids": windows.input_ids,
        "segment_ids": windows.segment_ids,
    }


def _name(row, number):
    return str(row.get("id", number))

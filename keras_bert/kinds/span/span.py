"""A question and a context -> the part of the context that answers it."""

import collections
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from absl import logging

from keras_bert.checkpoints.heads import SPAN_LABELER
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.io.whole_files import atomic_path
from keras_bert.kinds import fields
from keras_bert.kinds.answers import NEVER
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.hub_config import HubConfig, HubNames
from keras_bert.kinds.kind import Answer, Kind, Outputs
from keras_bert.kinds.network_calls import Tensors, call_in_pieces
from keras_bert.kinds.settings import SpanSettings
from keras_bert.kinds.signatures import Signature
from keras_bert.kinds.span import metrics as squad_metrics
from keras_bert.kinds.span.decoding import Decoder
from keras_bert.kinds.span.windows import Windows, cut_windows, label_windows
from keras_bert.models.heads import build_span_labeler
from keras_bert.tasks.base import Row
from keras_bert.text.packing import truncation_info
from keras_bert.text.text_ops import drop_invalid
from keras_bert.training import losses
from keras_bert.training.objectives import Objective


def _half(loss: Callable[..., tf.Tensor]) -> Callable[..., tf.Tensor]:
    # As in google-research/bert, the loss is the mean of both outputs' losses,
    # and the softmax is over all positions: padding changes the loss a little.
    return lambda *arguments, **options: loss(*arguments, **options) / 2


_OBJECTIVE = Objective(
    _half(losses.cross_entropy),
    {"accuracy": losses.accuracy},
    soft_loss=_half(losses.soft_cross_entropy),
)


def _read_settings(
    config: HubConfig, bert_config: BertConfig
) -> dict[str, int]:
    length = config.max_seq_length(bert_config)
    return {
        "max_seq_length": min(length, SpanSettings.max_seq_length),
        # Even a short window leaves room for part of the context.
        "max_query_length": min(length // 2, SpanSettings.max_query_length),
    }


class Span(Kind):
    """Answers with `answer`, a part of the context, or "" for no answer.

    The other parts of an answer are `start` and `end`, its span in the context,
    in characters; `score`, the sum of the logits of its first and last token;
    `null_odds`, the score of "no answer" minus `score`; `best_answer`, the best
    part of the context even if `answer` is ""; and `nbest`, the best answers as
    google-research/bert writes them. Runs of white space in an answer become
    one space.

    If `answers_may_be_missing`, there is no answer if `null_odds` exceeds
    `null_score_diff_threshold`. Otherwise there always is an answer, unless
    the context has no token.

    A long context is read in overlapping windows; none of it is truncated.
    A question longer than `max_query_length` is truncated.

    The SavedModel takes the question and the context [B] and returns
    `answer`, `score`, `start`, `end`, `null_odds` and `best_answer` [B].
    """

    name = "span"
    label_is_list = True
    Settings = SpanSettings
    num_text_fields = (2,)
    main_part = "answer"
    metrics = {"exact_match": squad_metrics.exact_match, "f1": squad_metrics.f1}
    objectives = {"start_logits": _OBJECTIVE, "end_logits": _OBJECTIVE}
    hub = HubNames(
        "question-answering",
        heads=(SPAN_LABELER,),
        text_fields=("question", "context"),
        read_settings=_read_settings,
    )

    def _check(self) -> None:
        super()._check()
        settings = self.spec.settings
        num_special = 2 + self.tokenizer.settings.pair_separators
        if settings.max_query_length + num_special >= settings.max_seq_length:
            raise InputError(
                f"A question of max_query_length {settings.max_query_length} "
                f"and {num_special} special tokens leave no room for the "
                f"context in max_seq_length {settings.max_seq_length}; choose "
                "a smaller max_query_length or a larger max_seq_length."
            )

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        return build_span_labeler(bert_config)

    def settings_from_data(self, rows: Iterable[Row]) -> dict[str, Any]:
        if self.spec.settings.answers_may_be_missing:
            return {}
        for chunk in fields.in_chunks(rows):
            fields.check_fields(chunk, ["label"])
            for number, row in fields.numbered(chunk):
                if not row["label"]:
                    raise InputError(
                        f"Question {_name(row, number)} has no answer; remove "
                        "it, or give the setting answers_may_be_missing=True."
                    )
        return {}

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        names = self.spec.text_fields
        questions, contexts = fields.text_columns(rows, names)
        windows = cut_windows(
            tf.constant(questions),
            tf.constant(contexts),
            self.tokenizer,
            self.spec.settings,
        )
        labels = {}
        if labeled:
            self.gold(rows)  # checks the labels
            positions = label_windows(rows, contexts, windows, self.tokenizer)
            labels = dict(zip(self.objectives, positions, strict=True))
        return Examples(
            windows.features(),
            windows.rows.numpy(),
            labels,
            truncated=windows.truncated.numpy(),
            tokens=windows,
        )

    def decode(
        self, rows: Sequence[Row], examples: Examples, outputs: Outputs
    ) -> list[Answer]:
        length = examples.lengths.max()
        dense = {
            name: keras.utils.pad_sequences(
                x, length, "float32", padding="post", truncating="post"
            )
            for name, x in outputs.items()
        }
        _, contexts = fields.text_columns(rows, self.spec.text_fields)
        return self._decoder(examples.tokens, dense).answers(contexts)

    def score(
        self,
        rows: Sequence[Row],
        answers: Sequence[Answer],
        metrics: Iterable[str],
    ) -> dict[str, float]:
        scores = super().score(rows, answers, metrics)
        gold = self.gold(rows)
        if not all(gold):
            columns = (
                [answer[name] for answer in answers]
                for name in ("answer", "best_answer", "null_odds")
            )
            scores |= squad_metrics.missing_answer_metrics(gold, *columns)
        return scores

    def gold(self, rows: Sequence[Row]) -> list[list[str]]:
        """Returns the texts of the gold answers to each question."""
        fields.check_fields(rows, ["label"])
        for number, row in fields.numbered(rows):
            if not isinstance(row["label"], (list, tuple)) or not all(
                isinstance(answer, dict)
                and isinstance(answer.get("text"), str)
                and answer["text"].strip()
                and isinstance(answer.get("answer_start"), Integral)
                and not isinstance(answer["answer_start"], bool)
                and answer["answer_start"] >= 0
                for answer in row["label"]
            ):
                raise InputError(
                    f"The label of question {_name(row, number)} is "
                    f"{row['label']!r}; give a list of answers, each with "
                    "'text', a string that is not empty, and 'answer_start', "
                    "the index of the character of the context at which this "
                    "text begins. The list is empty if there is no answer."
                )
        return [[answer["text"] for answer in row["label"]] for row in rows]

    def write_reports(
        self, folder: Path, rows: Sequence[Row], answers: Sequence[Answer]
    ) -> None:
        """Writes the files that run_squad.py in google-research/bert writes.

        These are `predictions.json`, `nbest_predictions.json` and, for SQuAD
        2.0, `null_odds.json`. The official evaluation takes `predictions.json`
        and `null_odds.json`.
        """
        files = {"predictions": "answer", "nbest_predictions": "nbest"}
        if self.spec.settings.answers_may_be_missing:
            files["null_odds"] = "null_odds"
        ids = [_name(row, number) for number, row in fields.numbered(rows)]
        if len(set(ids)) < len(ids):
            logging.warning(
                "Several questions have the id %r, so the reports name the "
                "questions by row number instead of id.",
                *collections.Counter(ids).most_common(1)[0][:1],
            )
            ids = [str(number) for number, _ in fields.numbered(rows)]
        for name, key in files.items():
            values = dict(zip(ids, (a[key] for a in answers), strict=True))
            with atomic_path(folder / f"{name}.json") as path:
                path.write_text(json.dumps(values, indent=4) + "\n")

    def signatures(self, model: keras.Model) -> dict[str, Signature]:
        settings = self.spec.settings

        def answer(question: tf.Tensor, context: tf.Tensor) -> Tensors:
            # `start` and `end` count characters, which invalid bytes are not.
            context = drop_invalid(context)
            windows = cut_windows(question, context, self.tokenizer, settings)
            outputs = call_in_pieces(model, windows.features())
            best = self._decoder(windows, outputs).best_answers(context)
            return best | truncation_info(
                windows.input_ids, windows.truncated, windows.rows
            )

        return {"serving_default": Signature(answer, self.string_inputs())}

    def _decoder(self, windows: Windows, outputs: Mapping[str, Any]) -> Decoder:
        # The network's own logits of padding depend on the rest of the batch.
        is_token = tf.sequence_mask(windows.input_ids.row_lengths())
        logits = {
            name: tf.where(is_token, outputs[name], NEVER)
            for name in self.objectives
        }
        settings, unk_id = self.spec.settings, self.tokenizer.unk_id
        return Decoder(windows, **logits, settings=settings, unk_id=unk_id)


def _name(row: Row, number: int) -> str:
    return str(row.get("id", number))

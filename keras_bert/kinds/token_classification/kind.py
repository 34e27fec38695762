"""One label for each word of a text: named entities and the like."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError
from keras_bert.finetuning.batches import IGNORED, Examples
from keras_bert.kinds.fields import check_fields, check_text
from keras_bert.kinds.metrics import METRICS
from keras_bert.kinds.reports import write_confusion_matrix
from keras_bert.kinds.token_classification.entities import (
    find_entities,
    write_entity_types,
)
from keras_bert.kinds.token_classification.windows import (
    tokenize_words,
    window_words,
)
from keras_bert.models.bilstm import build_bilstm_token_classifier
from keras_bert.models.feature_tagger import build_feature_tagger
from keras_bert.models.token_classifier import build_token_classifier
from keras_bert.text.packing import pad
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.training_model import Objective


class TokenClassificationHead(tf.Module):
    """Answers with `prediction`, a label for each word.

    Beside it stand `scores`, the labels' probabilities, and `entities`, each
    with `type`, `text` (its words with a space between), `start` and `end`,
    in words, and `score`, the probability of its least certain word.

    A word's label is learned and read at its first token. What is longer than
    `max_seq_length` goes through the model in windows that share half of
    their tokens; each word is learned and read in one of them.

    The SavedModel takes `text` [B], splits it at white space and around
    punctuation, and returns the entities [B, E]: `entity_type` and
    `entity_text`, "" where a text has fewer than E, `entity_start` and
    `entity_end`, in characters, and `entity_score`. Its signature `words`
    takes `words` [B, W], "" behind the last of a text, and returns `tags` and
    `scores` [B, W].
    """

    objectives = {"logits": Objective(cross_entropy, {"accuracy": accuracy})}

    def __init__(self, spec, tokenizer):
        super().__init__(name="token_classification")
        if spec.max_seq_length < 4:
            raise InputError(
                f"max_seq_length is {spec.max_seq_length}, but a window with "
                "[CLS] and [SEP] has to have at least 4 tokens."
            )
        self.spec = spec
        self.tokenizer = tokenizer

    def build_model(self, bert_config):
        num_labels = len(self.spec.labels)
        bilstm_size = self.spec.bilstm_size
        if self.spec.features:
            return build_feature_tagger(
                bert_config,
                num_labels=num_labels,
                features=self.spec.features,
                bilstm_size=bilstm_size,
            )
        if bilstm_size:
            return build_bilstm_token_classifier(
                bert_config, num_labels=num_labels, bilstm_size=bilstm_size
            )
        return build_token_classifier(bert_config, num_labels=num_labels)

    def encode(self, rows, *, labeled):
        words = self._words(rows)
        gold = self._gold(rows) if labeled else None
        windows = self._windows(*tokenize_words(words, self.tokenizer))
        labels = {}
        if labeled:
            is_read = windows.is_read.values
            labels["logits"] = windows.is_read.with_values(
                tf.tensor_scatter_nd_update(
                    tf.fill(tf.shape(is_read), IGNORED),
                    tf.where(is_read),  # in the order of the words
                    gold.values,
                )
            )
        return _WordExamples(
            _features(windows),
            windows.text_numbers.numpy(),
            labels,
            windows.is_read,
        )

    def decode(self, rows, examples, outputs):
        is_read = np.split(
            examples.is_read.values.numpy(),
            examples.is_read.row_splits.numpy()[1:-1],
        )
        logits = [
            array[: len(mask)][mask]
            for array, mask in zip(outputs["logits"], is_read, strict=True)
        ]
        label_ids, scores, entities = self._answer(
            self._words(rows), np.concatenate(logits)
        )
        answers = []
        for row, ids, row_scores, found in zip(
            rows,
            label_ids.to_list(),
            scores.to_list(),
            entities.to_list(),
            strict=True,
        ):
            words = row[self.spec.text_fields[0]]
            answers.append(
                {
                    "prediction": [self.spec.labels[i] for i in ids],
                    "scores": row_scores,
                    "entities": [
                        {
                            "type": kind,
                            "text": " ".join(words[first : last + 1]),
                            "start": first,
                            "end": last + 1,
                            "score": score,
                        }
                        for kind, first, last, score in found
                    ],
                }
            )
        return answers

    def score(self, rows, answers, metrics):
        gold = [list(row["label"]) for row in rows]
        predicted = [answer["prediction"] for answer in answers]
        return {
            name: float(METRICS["token_classification"][name](gold, predicted))
            for name in metrics
        }

    def write_reports(self, folder, rows, answers):
        """`entity_types.tsv`, and `confusion_matrix.png` of the words."""
        gold = self._gold(rows)
        ids = {label: i for i, label in enumerate(self.spec.labels)}
        write_confusion_matrix(
            folder / "confusion_matrix.png",
            gold.values.numpy(),
            [ids[label] for a in answers for label in a["prediction"]],
            self.spec.labels,
        )
        no_scores = gold.with_values(tf.zeros(tf.shape(gold.values)))
        entities = find_entities(gold, no_scores, self.spec.labels).to_list()
        write_entity_types(
            folder / "entity_types.tsv",
            gold={
                (kind, row, first, last + 1)
                for row, found in enumerate(entities)
                for kind, first, last, _ in found
            },
            predicted={
                (entity["type"], row, entity["start"], entity["end"])
                for row, answer in enumerate(answers)
                for entity in answer["entities"]
            },
        )

    def signatures(self, model):
        def tag(words):
            ragged = tf.RaggedTensor.from_tensor(words, padding="")
            tokens = tokenize_words(ragged, self.tokenizer)
            label_ids, scores, _ = self._answer(
                ragged, self._logits(model, *tokens)
            )
            tags = tf.gather(tf.constant(self.spec.labels), label_ids)
            return {
                "tags": tags.to_tensor(shape=tf.shape(words)),
                "scores": scores.to_tensor(shape=tf.shape(words)),
            }

        return {
            "serving_default": (
                lambda text: self._find(model, text),
                [tf.TensorSpec([None], tf.string, "text")],
            ),
            "words": (tag, [tf.TensorSpec([None, None], tf.string, "words")]),
        }

    def _find(self, model, texts):
        tokens = self.tokenizer.tokenize_with_offsets(texts)
        continues = [piece.startswith("##") for piece in self.tokenizer.vocab]
        begins_word = ~tf.gather(tf.constant(continues), tokens.ids)
        first_tokens = tokens.ids.with_values(
            tf.range(tf.size(begins_word.values))
        )
        first_tokens = tf.ragged.boolean_mask(first_tokens, begins_word)
        _, _, entities = self._answer(
            first_tokens, self._logits(model, tokens.ids, begins_word)
        )
        # Numbers of words, then of tokens, of all texts together.
        shift = first_tokens.row_starts()[:, None]
        behind = tf.concat(
            [first_tokens.values[1:], [tf.size(begins_word.values)]], axis=0
        )
        first = tf.gather(first_tokens.values, entities.first_words + shift)
        last = tf.gather(behind, entities.last_words + shift) - 1
        start_bytes = tf.gather(tokens.start_bytes.values, first)
        end_bytes = tf.gather(tokens.end_bytes.values, last)
        text = tf.strings.substr(
            tf.gather(texts, first.value_rowids()),
            start_bytes.values,
            end_bytes.values - start_bytes.values,
        )
        start_chars = tf.gather(tokens.start_chars.values, first)
        end_chars = tf.gather(tokens.end_chars.values, last)
        return {
            "entity_type": entities.types.to_tensor(),
            "entity_text": first.with_values(text).to_tensor(),
            "entity_start": start_chars.to_tensor(),
            "entity_end": end_chars.to_tensor(),
            "entity_score": entities.scores.to_tensor(),
        }

    def _logits(self, model, ids, begins_word):
        """Of all words of all texts, [W, L]."""
        windows = self._windows(ids, begins_word)
        logits = model(pad(_features(windows)))["logits"]  # [N, S, L]
        return tf.boolean_mask(logits, windows.is_read.to_tensor())

    def _answer(self, words, logits):
        """Ids of labels and their scores, [B, (words)], and the entities."""
        label_ids = words.with_values(tf.argmax(logits, axis=-1))
        scores = words.with_values(
            tf.reduce_max(tf.nn.softmax(logits), axis=-1)
        )
        return (
            label_ids,
            scores,
            find_entities(label_ids, scores, self.spec.labels),
        )

    def _windows(self, ids, begins_word):
        return window_words(
            ids,
            begins_word,
            seq_length=self.spec.max_seq_length,
            tokenizer=self.tokenizer,
        )

    def _words(self, rows):
        """The words of all rows, ragged [B, (words)]."""
        (field,) = self.spec.text_fields
        check_fields(rows, [field])
        for number, row in enumerate(rows, 1):
            if not isinstance(row[field], (list, tuple)):
                raise InputError(
                    f"The {field} of example {number} are {row[field]!r}; "
                    "give a list of strings."
                )
            for word in row[field]:
                check_text(word, f"One of the {field} of example {number}")
        return tf.RaggedTensor.from_row_lengths(
            tf.constant([w for row in rows for w in row[field]], tf.string),
            [len(row[field]) for row in rows],
        )

    def _gold(self, rows):
        """Ids of the labels of all words, ragged [B, (words)]."""
        (field,) = self.spec.text_fields
        check_fields(rows, [field, "label"])
        ids = {label: i for i, label in enumerate(self.spec.labels)}
        for number, row in enumerate(rows, 1):
            tags, words = row["label"], row[field]
            if not isinstance(tags, (list, tuple)) or len(tags) != len(words):
                raise InputError(
                    f"Example {number} has {len(words)} words and the label "
                    f"{tags!r}; give a list with a label for each word."
                )
            if unknown := [tag for tag in tags if tag not in self.spec.labels]:
                raise InputError(
                    f"Label {unknown[0]!r} of example {number} is not one of "
                    f"{', '.join(ids)}; check the labels and the reader of "
                    "the task."
                )
        return tf.RaggedTensor.from_row_lengths(
            tf.constant([ids[t] for r in rows for t in r["label"]], tf.int32),
            [len(row["label"]) for row in rows],
        )


@dataclasses.dataclass(frozen=True)
class _WordExamples(Examples):
    """Of each token, whether a word is read there, [N, (tokens)]."""

    is_read: tf.RaggedTensor | None = None


def _features(windows):
    return {
        "input_ids": windows.input_ids,
        "segment_ids": tf.zeros_like(windows.input_ids),
    }

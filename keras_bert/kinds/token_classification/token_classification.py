"""A task with a label for each word of a text, and its entities."""

from __future__ import annotations

import dataclasses

import numpy as np
import tensorflow as tf

from keras_bert.checkpoints.heads import TOKEN_CLASSIFIER
from keras_bert.errors import InputError
from keras_bert.kinds.examples import IGNORED, Examples, how_read
from keras_bert.kinds.fields import (
    check_fields,
    check_text,
    check_texts,
    find_label,
    numbered,
)
from keras_bert.kinds.kind import Kind
from keras_bert.kinds.label_smoothing import smooth
from keras_bert.kinds.network_calls import call_in_pieces
from keras_bert.kinds.reports import write_confusion_matrix
from keras_bert.kinds.signatures import Signature
from keras_bert.kinds.token_classification.entities import (
    find_entities,
    write_entity_types,
)
from keras_bert.kinds.token_classification.metrics import METRICS
from keras_bert.kinds.token_classification.settings import (
    TokenClassificationSettings,
)
from keras_bert.kinds.token_classification.windows import (
    tokenize_words,
    window_words,
)
from keras_bert.models.bilstm import build_bilstm_token_classifier
from keras_bert.models.feature_tagger import (
    build_feature_tagger,
    size_features,
)
from keras_bert.models.token_classifier import build_token_classifier
from keras_bert.text.tokenizer import TokensWithOffsets
from keras_bert.training.losses import (
    accuracy,
    cross_entropy,
    soft_cross_entropy,
)
from keras_bert.training.objectives import Objective


class TokenClassification(Kind):
    """Answers with `tags`, a label for each word, `scores` and `entities`.

    The scores are the probabilities of the tags. An entity has `type`,
    `text`, `score` (the probability of its least certain tag) and its place:
    the words `start_word` to `end_word`. The end is the first word after the
    entity.

    The label of a word is learned and predicted at its first token. A text
    longer than `max_seq_length` is read in windows that share half of their
    tokens; each word is learned and predicted in one of them.

    A row without a label may have a `text` instead of the words. It is split
    at white space and around punctuation. Its answer has entities only; their
    places are `start` and `end`, in characters.

    The SavedModel takes `text` [B] and returns the entities of each text:
    `entities.type`, `entities.text`, `entities.start`, `entities.end` and
    `entities.score`, [B, E], padded with "" and 0. Its second signature, with
    the name of the task's field, takes words [B, W], padded with "", and
    returns `tags` and `scores` [B, W].
    """

    name = "token_classification"
    Settings = TokenClassificationSettings
    num_text_fields = (1,)
    has_labels = True
    metrics = METRICS
    objectives = {
        "logits": Objective(
            cross_entropy,
            {"accuracy": accuracy},
            soft_loss=soft_cross_entropy,
        )
    }
    head_names = (TOKEN_CLASSIFIER,)

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        if spec.settings.max_seq_length < 4:
            raise InputError(
                f"max_seq_length is {spec.settings.max_seq_length}, but a "
                "window with [CLS] and [SEP] needs at least 4 tokens."
            )

    def build_model(self, bert_config):
        settings = self.spec.settings
        num_labels = len(self.spec.labels)
        if settings.features:
            return build_feature_tagger(
                bert_config,
                num_labels=num_labels,
                features=settings.features,
                bilstm_size=settings.bilstm_size,
            )
        if settings.bilstm_size:
            return build_bilstm_token_classifier(
                bert_config,
                num_labels=num_labels,
                bilstm_size=settings.bilstm_size,
            )
        return build_token_classifier(bert_config, num_labels=num_labels)

    @property
    def training_objectives(self):
        return smooth(self.objectives, self.spec.settings.label_smoothing)

    def encode(self, rows, *, labeled):
        if not labeled and _have_texts(rows, self.spec.text_fields[0]):
            check_texts(rows, ["text"])
            texts = tf.constant([row["text"] for row in rows])
            tokens = _Tokens.of_texts(texts, self.tokenizer)
        else:
            tokens = _Tokens.of_words(self._words(rows), self.tokenizer)
        windows = self._windows(tokens)
        labels = {}
        if labeled:
            is_read = windows.is_read.values
            labels["logits"] = windows.is_read.with_values(
                tf.tensor_scatter_nd_update(
                    tf.fill(tf.shape(is_read), IGNORED),
                    tf.where(is_read),  # in the order of the words
                    self._gold_ids(rows).values,
                )
            )
        return _WordExamples(
            _features(windows),
            windows.text_numbers.numpy(),
            labels,
            is_read=windows.is_read,
            tokens=tokens,
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
        tokens = examples.tokens
        tags, scores, entities = self._answer(tokens, np.concatenate(logits))
        if tokens.offsets is not None:
            places = {
                name: values.to_list()
                for name, values in tokens.locate(entities).items()
            }
        answers = []
        for i, (row, row_tags, row_scores, found) in enumerate(
            zip(
                rows,
                tags.to_list(),
                scores.to_list(),
                entities.to_list(),
                strict=True,
            )
        ):
            answer = {"entities": []}
            if tokens.offsets is None:
                answer["tags"] = [tag.decode() for tag in row_tags]
                answer["scores"] = row_scores
            for number, (kind, first, last, score) in enumerate(found):
                if tokens.offsets is None:
                    words = row[self.spec.text_fields[0]]
                    text = " ".join(words[first : last + 1])
                    place = {"start_word": first, "end_word": last + 1}
                else:
                    place = {n: x[i][number] for n, x in places.items()}
                    text = row["text"][place["start"] : place["end"]]
                answer["entities"].append(
                    {"type": kind, "text": text, **place, "score": score}
                )
            answers.append(answer)
        return answers

    def gold(self, rows):
        return [list(row["label"]) for row in rows]

    def predicted(self, answers):
        return [answer["tags"] for answer in answers]

    def submission(self, answer):
        return " ".join(answer["tags"])

    def write_reports(self, folder, rows, answers):
        """Writes `entity_types.tsv`, and `confusion_matrix.png` of words."""
        gold = self._gold_ids(rows)
        ids = self.label_ids()
        write_confusion_matrix(
            folder / "confusion_matrix.png",
            gold.values.numpy(),
            [ids[tag] for answer in answers for tag in answer["tags"]],
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
                (entity["type"], row, entity["start_word"], entity["end_word"])
                for row, answer in enumerate(answers)
                for entity in answer["entities"]
            },
        )

    def signatures(self, model):
        def find(text):
            # `start` and `end` count characters, which invalid bytes are not.
            text = tf.strings.unicode_transcode(
                text, "UTF-8", "UTF-8", errors="ignore"
            )
            tokens = _Tokens.of_texts(text, self.tokenizer)
            logits, read = self._read(model, tokens)
            _, _, entities = self._answer(tokens, logits)
            places = tokens.locate(entities)
            starts, ends = places["start"], places["end"]
            texts = tf.strings.substr(
                tf.gather(text, starts.value_rowids()),
                starts.values,
                ends.values - starts.values,
                "UTF8_CHAR",
            )
            return {
                "entities.type": entities.types.to_tensor(),
                "entities.text": starts.with_values(texts).to_tensor(),
                "entities.start": starts.to_tensor(),
                "entities.end": ends.to_tensor(),
                "entities.score": entities.scores.to_tensor(),
                **read,
            }

        def tag(words):
            shape = tf.shape(words)
            words = tf.RaggedTensor.from_tensor(words, padding="")
            tokens = _Tokens.of_words(words, self.tokenizer)
            logits, read = self._read(model, tokens)
            tags, scores, _ = self._answer(tokens, logits)
            return {
                "tags": tags.to_tensor(shape=shape),
                "scores": scores.to_tensor(shape=shape),
                **read,
            }

        (field,) = self.spec.text_fields
        text = tf.TensorSpec([None], tf.string, "text")
        words = tf.TensorSpec([None, None], tf.string, field)
        return {
            "serving_default": Signature(find, [text]),
            field: Signature(tag, [words]),
        }

    def work_counter(self, bert_config):
        settings = self.spec.settings
        sizes = {"bilstm_input_size": bert_config.hidden_size}
        if settings.features:
            num_layers, size = size_features(bert_config, settings.features)
            sizes = {"bilstm_input_size": size, "num_frozen_layers": num_layers}
        return super().work_counter(
            bert_config, bilstm_size=settings.bilstm_size, **sizes
        )

    def _read(self, model, tokens):
        """Returns the logits of all words, [W, L], and how texts were read."""
        windows = self._windows(tokens)
        _, outputs = call_in_pieces(model, _features(windows))
        return (
            tf.boolean_mask(outputs["logits"], windows.is_read.to_tensor()),
            how_read(windows.input_ids, windows.text_numbers),
        )

    def _answer(self, tokens, logits):
        """Returns tags and their scores, [B, (words)], and the entities."""
        label_ids = tokens.words.with_values(tf.argmax(logits, axis=-1))
        scores = tokens.words.with_values(
            tf.reduce_max(tf.nn.softmax(logits), axis=-1)
        )
        labels = self.spec.labels
        return (
            tf.gather(tf.constant(labels), label_ids),
            scores,
            find_entities(label_ids, scores, labels),
        )

    def _windows(self, tokens):
        return window_words(
            tokens.ids,
            tokens.begins_word,
            max_seq_length=self.spec.settings.max_seq_length,
            tokenizer=self.tokenizer,
        )

    def _words(self, rows):
        """Returns the words of all rows, ragged [B, (words)]."""
        (field,) = self.spec.text_fields
        check_fields(rows, [field])
        for number, row in numbered(rows):
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

    def _gold_ids(self, rows):
        """Returns the ids of the labels of all words, ragged [B, (words)]."""
        (field,) = self.spec.text_fields
        check_fields(rows, [field, "label"])
        label_ids = self.label_ids()
        ids = []
        for number, row in numbered(rows):
            tags, words = row["label"], row[field]
            if not isinstance(tags, (list, tuple)) or len(tags) != len(words):
                raise InputError(
                    f"Example {number} has {len(words)} words and the label "
                    f"{tags!r}; give a list with a label for each word."
                )
            ids.append([find_label(tag, label_ids, number) for tag in tags])
        return tf.ragged.constant(ids, tf.int32, ragged_rank=1)


@dataclasses.dataclass(frozen=True)
class _Tokens:
    """The tokens of texts.

    Attributes:
        ids: int32 [B, (tokens)].
        begins_word: bool [B, (tokens)].
        words: A value for each word, [B, (words)].
        offsets: The places of the tokens in the texts; None for words.
    """

    ids: tf.RaggedTensor
    begins_word: tf.RaggedTensor
    words: tf.RaggedTensor
    offsets: TokensWithOffsets | None = None

    @classmethod
    def of_words(cls, words, tokenizer):
        return cls(*tokenize_words(words, tokenizer), words)

    @classmethod
    def of_texts(cls, texts, tokenizer):
        tokens = tokenizer.tokenize_with_offsets(texts)
        continues = [piece.startswith("##") for piece in tokenizer.vocab]
        begins_word = ~tf.gather(tf.constant(continues), tokens.ids)
        numbers = tokens.ids.with_values(tf.range(tf.size(begins_word.values)))
        first_tokens = tf.ragged.boolean_mask(numbers, begins_word)
        return cls(tokens.ids, begins_word, first_tokens, tokens)

    def locate(self, entities):
        """Returns the `start` and `end` of entities, in characters."""
        # Words, and then tokens, are numbered through all texts.
        firsts = self.words.values
        shift = self.words.row_starts()[:, None]
        after = tf.concat(
            [firsts[1:], [tf.size(self.begins_word.values)]], axis=0
        )
        first = tf.gather(firsts, entities.first_words + shift)
        last = tf.gather(after, entities.last_words + shift) - 1
        return {
            "start": tf.gather(self.offsets.start_chars.values, first),
            "end": tf.gather(self.offsets.end_chars.values, last),
        }


@dataclasses.dataclass(frozen=True)
class _WordExamples(Examples):
    """Examples with their tokens, and whether a word is read at a token."""

    is_read: tf.RaggedTensor | None = None
    tokens: _Tokens | None = None


def _have_texts(rows, field):
    return bool(rows) and field not in rows[0] and "text" in rows[0]


def _features(windows):
    return {
        "input_ids": windows.input_ids,
        "segment_ids": tf.zeros_like(windows.input_ids),
    }

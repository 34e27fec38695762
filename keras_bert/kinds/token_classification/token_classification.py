"""The words of a text -> a label for each, and the entities of the text."""

import collections
import functools
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_bert.checkpoints.heads import CRF, TOKEN_CLASSIFIER
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds import fields
from keras_bert.kinds.examples import IGNORED, Examples
from keras_bert.kinds.hub_config import HubNames, read_max_seq_length
from keras_bert.kinds.kind import ONE_LABEL, Answer, Kind, Outputs, TaskSpec
from keras_bert.kinds.network_calls import Tensors, call_in_pieces
from keras_bert.kinds.reports import write_confusion_matrix
from keras_bert.kinds.settings import TokenClassificationSettings
from keras_bert.kinds.signatures import Signature
from keras_bert.kinds.token_classification.entities import (
    METRICS,
    Entities,
    find_entities,
    split_tags,
    warn_of_types,
    write_entity_types,
)
from keras_bert.kinds.token_classification.words import (
    Tokens,
    WordStarts,
    WordWindows,
    window_words,
)
from keras_bert.layers.crf import crf_loss, marginals, viterbi
from keras_bert.models.heads import build_token_classifier
from keras_bert.tasks.base import Row
from keras_bert.text.packing import truncation_info
from keras_bert.text.text_ops import drop_invalid
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.losses import soft_cross_entropy, soft_squared_error
from keras_bert.training.objectives import Objective

# A CRF chooses the labels of this many texts at a time, padded to the longest.
_ROWS_PER_CALL = 256
# A punctuation mark between two letters.
_INNER = re.compile(r"(?<=[^\W\d_])[^\w\s](?=[^\W\d_])")


def _soft_crf_loss(
    teacher: tf.Tensor, chain: tf.Tensor, temperature: float
) -> tf.Tensor:
    # If two networks have equal transitions, and equal probabilities at each
    # word, they give equal probabilities to all sequences of labels.
    size = chain.shape[-1]
    words = soft_cross_entropy(teacher[:, size:], chain[:, size:], temperature)
    pairs = soft_squared_error(teacher[:, :size], chain[:, :size])
    return words + ops.mean(pairs, axis=1, keepdims=True)


class TokenClassification(Kind):
    """Answers with `tags` (a label for each word), `scores` and `entities`.

    The scores are the probabilities of the tags. An entity has `type`, `text`,
    `score` (the probability of its least certain tag; see the setting
    `entity_grouping`), `start_word`, and `end_word`, the index of the first
    word after the entity.

    With the setting `crf`, the tags of a text are the most probable sequence of
    tags. A score is the marginal probability of the tag: the sum of the
    probabilities of all sequences of tags that have this tag at the word.

    The label of a word is the label of its first token, in training and in
    prediction. If a text is given instead of its words, it is split around
    punctuation, so a word such as "U.S." becomes several words. Therefore, in
    training, the first token of each part of such a word has a label, and the
    later parts get I- instead of B-. A text longer than `max_seq_length` is
    read in windows that overlap by half of their tokens; each word has its
    label in only one of the windows. In training, a CRF treats the words of
    each window as a separate sequence; in prediction, it chooses the tags of
    all words of the text together.

    A row without a label may have a `text` instead of the words. The text is
    split at white space and around punctuation, except for the
    `inner_punctuation`: characters such as the hyphen that are between two
    letters in words of the training set. The answer to such a row has only
    entities, with `start` and `end` in characters.

    The SavedModel takes `text` [B] and returns the entities of each text:
    `entities.type`, `entities.text`, `entities.start`, `entities.end` and
    `entities.score`, [B, E], padded with "" and 0. Its second signature, which
    is named like the task's field, takes words [B, W], padded with "", and
    returns `tags` and `scores` [B, W].
    """

    name = "token_classification"
    Settings = TokenClassificationSettings
    num_text_fields = (1,)
    has_labels = True
    label_is_list = True
    tags_words = True
    metrics = METRICS
    main_part = "tags"
    objectives = ONE_LABEL
    hub = HubNames(
        "token-classification",
        heads=(TOKEN_CLASSIFIER, CRF),
        text_fields=("words",),
        read_settings=lambda *configs: {
            **read_max_seq_length(*configs),
            "entity_grouping": "first",
        },
    )
    inherited_settings = ("crf",)

    def __init__(self, spec: TaskSpec, tokenizer: BertTokenizer) -> None:
        super().__init__(spec, tokenizer)
        warn_of_types(spec.labels)
        # Each label -> its tag in the scheme IOBES.
        self._plain_tags = {
            label: f"{place}-{type_}" if type_ else label
            for label, (place, type_) in split_tags(spec.labels).items()
        }
        # The label id of a word's first part -> the label id of its later
        # parts. E- and S- end an entity, so the later parts of words with such
        # labels are ignored.
        tags = [self._plain_tags[label] for label in spec.labels]
        ids = {x: i for i, x in enumerate(tags) if x[:2] not in ("E-", "S-")}
        inside = [tag.replace("B-", "I-", 1) for tag in tags]
        self._inside_ids = np.array([ids.get(x, IGNORED) for x in inside])
        # The network's output has this many rows of transitions before the
        # logits.
        self._num_transitions = 0
        if spec.settings.crf:
            self._num_transitions = len(spec.labels)
            objective = Objective(crf_loss, soft_loss=_soft_crf_loss)
            self.objectives = {"chain": objective}

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        num_labels, crf = len(self.spec.labels), self.spec.settings.crf
        return build_token_classifier(
            bert_config, num_labels=num_labels, crf=crf
        )

    def settings_from_data(self, rows: Iterable[Row]) -> dict[str, Any]:
        if self.spec.settings.inner_punctuation is not None:
            return {}
        (field,) = self.spec.text_fields
        counts: collections.Counter[str] = collections.Counter()
        num_words = 0
        for chunk in fields.in_chunks(rows):
            fields.check_texts(chunk, [], lists=[field])
            for word in itertools.chain(*(row[field] for row in chunk)):
                counts.update({*_INNER.findall(word)})
                num_words += 1
        # Only characters in at least one of a thousand words: data sets have
        # errors.
        frequent = [x for x, n in counts.items() if 1000 * n >= num_words]
        return {"inner_punctuation": "".join(sorted(frequent))}

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        (field,) = self.spec.text_fields
        if not labeled and rows and field not in rows[0] and "text" in rows[0]:
            fields.check_texts(rows, ["text"])
            texts = tf.constant([row["text"] for row in rows])
            tokens = Tokens.of_texts(texts, self._word_starts)
        else:
            tokens = Tokens.of_words(self._words(rows), self.tokenizer)
        windows = self._windows(tokens)
        labels = {}
        if labeled:
            (output,) = self.objectives
            labels[output] = self._labels(tokens, self._gold_ids(rows))
        return Examples(
            windows.features(),
            windows.text_numbers.numpy(),
            labels,
            tokens=(tokens, windows),
        )

    def decode(
        self, rows: Sequence[Row], examples: Examples, outputs: Outputs
    ) -> list[Answer]:
        tokens, windows = examples.tokens
        masks = windows.is_read
        masks = np.split(masks.values.numpy(), masks.row_splits.numpy()[1:-1])
        (arrays,) = outputs.values()
        first = self._num_transitions
        logits = [
            array[first:][: len(mask)][mask]
            for array, mask in zip(arrays, masks, strict=True)
        ]
        words = tokens.words.with_values(tf.constant(np.concatenate(logits)))
        chosen = [
            self._choose(words[i : i + _ROWS_PER_CALL], arrays[0][None, :first])
            for i in range(0, len(rows), _ROWS_PER_CALL)
        ]
        ids, scores = (tf.concat(x, axis=0) for x in zip(*chosen, strict=True))
        tags, scores, entities = self._answer(tokens, ids, scores)
        has_words = tokens.offsets is None
        field = self.spec.text_fields[0] if has_words else "text"
        unit, join = ("_word", " ".join) if has_words else ("", str)
        columns = (*tokens.locate(entities), entities.types, entities.scores)
        answers = []
        for row, *places, row_tags, row_scores in zip(
            rows, *(x.to_list() for x in (*columns, tags, scores)), strict=True
        ):
            answer = {
                "entities": [
                    {
                        "type": kind.decode(),
                        "text": join(row[field][start:end]),
                        f"start{unit}": start,
                        f"end{unit}": end,
                        "score": score,
                    }
                    for start, end, kind, score in zip(*places, strict=True)
                ]
            }
            if has_words:
                answer["tags"] = [tag.decode() for tag in row_tags]
                answer["scores"] = row_scores
            answers.append(answer)
        return answers

    def gold(self, rows: Sequence[Row]) -> list[list[str]]:
        return [[self._plain_tags[x] for x in row["label"]] for row in rows]

    def predicted(self, answers: Sequence[Answer]) -> list[list[str]]:
        return [[self._plain_tags[x] for x in a["tags"]] for a in answers]

    def submission(self, answer: Answer) -> str:
        return " ".join(answer["tags"])

    def write_reports(
        self, folder: Path, rows: Sequence[Row], answers: Sequence[Answer]
    ) -> None:
        """Writes `entity_types.tsv`, and `confusion_matrix.png` for words."""
        ids = self.label_ids()
        gold = [ids[tag] for row in rows for tag in row["label"]]
        predicted = [ids[tag] for answer in answers for tag in answer["tags"]]
        write_confusion_matrix(folder, gold, predicted, self.spec.labels)
        write_entity_types(folder, self.gold(rows), self.predicted(answers))

    def signatures(self, model: keras.Model) -> dict[str, Signature]:
        def find(text: tf.Tensor) -> Tensors:
            # `start` and `end` count characters, which invalid bytes are not.
            text = drop_invalid(text)
            tokens = Tokens.of_texts(text, self._word_starts)
            _, _, entities, read = self._read(model, tokens)
            starts, ends = tokens.locate(entities)
            texts = tf.strings.substr(
                tf.gather(text, starts.value_rowids()),
                starts.values,
                ends.values - starts.values,
                "UTF8_CHAR",
            )
            columns = {
                "type": entities.types,
                "text": starts.with_values(texts),
                "start": starts,
                "end": ends,
                "score": entities.scores,
            }
            return read | {
                f"entities.{name}": x.to_tensor() for name, x in columns.items()
            }

        def tag(words: tf.Tensor) -> Tensors:
            shape = tf.shape(words)
            words = tf.RaggedTensor.from_tensor(words, padding="")
            tokens = Tokens.of_words(words, self.tokenizer)
            tags, scores, _, read = self._read(model, tokens)
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

    def _read(
        self, model: keras.Model, tokens: Tokens
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, Entities, Tensors]:
        """Returns what `_answer` returns, and the texts' truncation info."""
        windows, first = self._windows(tokens), self._num_transitions
        outputs = call_in_pieces(model, windows.features())
        (chain,) = outputs.values()
        logits = tf.boolean_mask(chain[:, first:], windows.is_read.to_tensor())
        words = tokens.words.with_values(logits)
        return (
            *self._answer(tokens, *self._choose(words, chain[:1, :first])),
            truncation_info(windows.input_ids, rows=windows.text_numbers),
        )

    def _choose(
        self, words: tf.RaggedTensor, transitions: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the label ids and the scores of all W words, both [W].

        `words` are the logits of the words of B texts, [B, (words), L].
        """
        if not self.spec.settings.crf:
            scores = tf.nn.softmax(words.values)
            label_ids = tf.argmax(words.values, axis=-1)
            return label_ids, tf.reduce_max(scores, axis=-1)
        # One more token than in the longest text, because a loop needs at least
        # one step.
        logits = tf.pad(words.to_tensor(), [[0, 0], [0, 1], [0, 0]])
        is_word = tf.sequence_mask(words.row_lengths(), tf.shape(logits)[1])
        label_ids = viterbi(logits, is_word, transitions)
        scores = marginals(logits, is_word, transitions)
        scores = tf.gather(scores, label_ids, batch_dims=2)
        return (
            tf.boolean_mask(label_ids, is_word),
            tf.boolean_mask(scores, is_word),
        )

    def _answer(
        self, tokens: Tokens, label_ids: tf.Tensor, scores: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, Entities]:
        """Returns tags and their scores, [B, (words)], and the entities."""
        label_ids, scores = map(tokens.words.with_values, (label_ids, scores))
        labels = self.spec.labels
        mean_score = self.spec.settings.entity_grouping != "words"
        entities = find_entities(label_ids, scores, labels, mean_score)
        return tf.gather(tf.constant(labels), label_ids), scores, entities

    @functools.cached_property
    def _word_starts(self) -> WordStarts:
        settings = self.spec.settings
        inner = settings.inner_punctuation or ""
        return WordStarts(self.tokenizer, settings.entity_grouping, inner)

    def _windows(self, tokens: Tokens) -> WordWindows:
        size = self.spec.settings.max_seq_length
        return window_words(tokens, self.tokenizer, size)

    def _labels(self, tokens: Tokens, gold_ids: list[int]) -> tf.RaggedTensor:
        """Returns the labels of the tokens in all windows, ragged.

        A word such as "U.S." would be several words in a text. The later of
        these words have labels too, which continue the label of the first.
        """
        in_text = tokens.of_text(self._word_starts)
        is_first, is_learned = (
            x.begins_word.values.numpy() for x in (tokens, in_text)
        )
        ids = np.array(gold_ids, "int32")[np.cumsum(is_first) - 1]
        ids = np.where(is_first, ids, self._inside_ids[ids])[is_learned]
        is_read = self._windows(in_text).is_read
        labels = np.full(is_read.values.shape, IGNORED, "int32")
        # For a CRF, 0 marks a token that is not a word, and labels begin at 1.
        ids += self.spec.settings.crf & (ids != IGNORED)
        labels[is_read.values.numpy()] = ids
        return is_read.with_values(tf.constant(labels))

    def _words(self, rows: Sequence[Row]) -> tf.RaggedTensor:
        """Returns the words of all rows, ragged [B, (words)]."""
        (field,) = self.spec.text_fields
        fields.check_texts(rows, [], lists=[field])
        return tf.RaggedTensor.from_row_lengths(
            tf.constant([w for row in rows for w in row[field]], tf.string),
            [len(row[field]) for row in rows],
        )

    def _gold_ids(self, rows: Sequence[Row]) -> list[int]:
        """Returns the ids of the labels of all words, in order."""
        (field,) = self.spec.text_fields
        fields.check_fields(rows, ["label"])
        label_ids = self.label_ids()
        ids = []
        for number, row in fields.numbered(rows):
            tags, words = row["label"], row[field]
            if not isinstance(tags, (list, tuple)) or len(tags) != len(words):
                raise InputError(
                    f"Example {number} has {len(words)} words and the label "
                    f"{tags!r}; give a list with a label for each word."
                )
            ids += [fields.find_label(tag, label_ids, number) for tag in tags]
        return ids

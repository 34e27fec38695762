"""Texts -> vectors, which are similar for texts of similar meaning."""

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.kinds import network_calls
from keras_bert.kinds.answers import ANSWERS, unit_vectors
from keras_bert.kinds.embedding.losses import (
    REQUIREMENTS,
    check_rows,
    objective,
)
from keras_bert.kinds.embedding.sentence_transformers import read_settings
from keras_bert.kinds.embedding.settings import EmbeddingSettings
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import encode_columns, find_number, numbered
from keras_bert.kinds.hub_config import SENTENCE_TRANSFORMER, HubNames
from keras_bert.kinds.kind import Answer, Kind, Outputs, TaskSpec, Values
from keras_bert.kinds.network_calls import Tensors
from keras_bert.kinds.regression import Regression
from keras_bert.kinds.signatures import Call, Signature, one_graph
from keras_bert.models.embedder import build_embedder
from keras_bert.tasks.base import Row
from keras_bert.text.tokenizer import BertTokenizer

# The ids of texts are below this number: a TPU has 32-bit integers.
_NUM_IDS = 2**31 - 1


def _triplet_accuracy(
    gold: Values, predicted: Sequence[Sequence[float]]
) -> float:
    """Returns the share of rows whose positive is nearer than all negatives."""
    return float(np.mean([x[0] > max(x[1:]) for x in predicted]))


def _mean_cosine(
    gold: np.ndarray, predicted: Sequence[Sequence[float]]
) -> float:
    """Returns the mean over rows of the cosine of the vector and the label."""
    units = unit_vectors(gold) * unit_vectors(np.array(predicted))
    return float(np.mean(np.sum(units, axis=1)))


class Embedding(Kind):
    """Answers with `embedding`, the vector of a text.

    The answer to a row with two texts is `similarity`: the cosine of their
    vectors or, if the settings say so, the dot product. The answer to a row
    with more texts is `similarities`, a list: the first text's similarity to
    every other text. The default prompt of the settings precedes each text.

    The text fields are an anchor, a positive and any number of negatives. A row
    may leave out the last fields, but all rows of a data set have the same
    fields. Training rows are pairs or triplets without a label, pairs with a
    number as their label, or texts with a vector as their label. Validation
    rows may have another form that suits the metrics.

    The SavedModel and its signature `embed` take the first text field [B] and
    return `embedding`, float32 [B, H]. The signature `similarity` takes the
    first two text fields [B] and returns `similarity`, float32 [B]. For each
    prompt, there is a signature such as `embed_query`, which puts this prompt
    before each text; if there is a default prompt, the signature `embed_` reads
    the texts without a prompt. The signature `serve_ids` takes ids and returns
    `embedding`.
    """

    name = "embedding"
    Settings = EmbeddingSettings
    num_text_fields = tuple(range(1, 11))
    hub = HubNames(
        "sentence-similarity",
        architecture=SENTENCE_TRANSFORMER,
        # The second field is for the similarity of two texts.
        text_fields=("text", "other_text"),
        has_metric=False,
        read_settings=read_settings,
    )
    inherited_settings = (
        "pooling",
        "dense",
        "normalize",
        "similarity",
        "prompts",
        "default_prompt_name",
    )
    metrics = {
        "spearman": Regression.metrics["spearman"],
        "pearson": Regression.metrics["pearson"],
        "triplet_accuracy": _triplet_accuracy,
        "cosine": _mean_cosine,
    }

    def __init__(self, spec: TaskSpec, tokenizer: BertTokenizer) -> None:
        super().__init__(spec, tokenizer)
        self._in_windows = spec.settings.in_windows
        self._prompt = spec.settings.default_prompt
        self._requirements = REQUIREMENTS[spec.settings.loss]
        self._label_size: int | None = None  # set if labels are vectors
        self.objectives = {"embeddings": objective(spec.settings)}
        self.batches_by_length = spec.settings.loss != "cosent"

    def build_model(self, bert_config: BertConfig) -> keras.Model:
        settings = self.spec.settings
        is_packed = not self._in_windows
        model = build_network(settings, bert_config, packed=is_packed)
        size = model.output["embeddings"].shape[-1]
        if max(settings.sizes, default=0) > size:
            raise InputError(
                f"dimensions is {settings.dimensions!r}, but the network's "
                f"vectors have {size} numbers."
            )
        if self._label_size not in (None, size):
            raise InputError(
                f"The labels are vectors of {self._label_size} numbers, but "
                f"the network's vectors have {size}; set dense to "
                f"{self._label_size}:linear, or give other labels."
            )
        return model

    def settings_from_data(self, rows: Iterable[Row]) -> dict[str, Any]:
        """Checks that the loss fits the rows and the settings; returns {}."""
        settings = self.spec.settings
        if settings.similarity == "dot" and not settings.normalize:
            raise InputError(
                "similarity is dot, but training compares cosines; set "
                "similarity to cosine, or normalize the vectors."
            )
        if any(settings.named_prompts.values()):
            logging.warning(
                "Training puts the default prompt %r before each text. If "
                "some texts need another prompt, leave default_prompt_name "
                "empty and write the prompt of each text into the text.",
                self._prompt,
            )
        first = [next(iter(rows))]
        row_format = check_rows(first, self.spec.text_fields, labeled=True)
        self._requirements.check(row_format, f"loss {settings.loss}")
        if settings.loss == "vector":
            self._label_size = _vectors(first).shape[1]
        return {}

    def encode(self, rows: Sequence[Row], *, labeled: bool) -> Examples:
        """Returns examples.

        They have no labels if the texts and labels of the rows are not those
        that the loss needs.
        """
        row_format = check_rows(rows, self.spec.text_fields, labeled=labeled)
        texts = [row[field] for row in rows for field in row_format.fields]
        after_prompts = [self._prompt + text for text in texts]
        packed = encode_columns([after_prompts], self.preprocessor)
        labels = {}
        if labeled and self._requirements.fit(row_format):
            labels["embeddings"] = self._labels(rows, texts)
        examples = packed.grouped(len(row_format.fields), labels)
        for name, values in labels.items():  # one weight per vector
            examples.weights[name] = tf.ones(values.shape[:2])
        return examples

    def _labels(self, rows: Sequence[Row], texts: list[str]) -> tf.Tensor:
        loss = self.spec.settings.loss
        if loss == "multiple_negatives":
            ids = tf.strings.to_hash_bucket_fast(texts, _NUM_IDS)
            return tf.reshape(tf.cast(ids, tf.int32), [len(rows), -1])
        if loss == "cosent":
            return tf.constant(_numbers(rows), tf.float32)
        if loss == "vector":
            return tf.constant(_vectors(rows)[:, None], tf.float32)
        return tf.zeros(len(rows))  # the order of the texts is enough

    def decode(
        self, rows: Sequence[Row], examples: Examples, outputs: Outputs
    ) -> list[Answer]:
        settings = vars(self.spec.settings)
        arrays = {name: np.stack(x) for name, x in outputs.items()}
        answers = ANSWERS["embedding"](arrays, np.array(()), settings)
        ((name, values),) = answers.items()
        return [{name: value} for value in values.tolist()]

    def gold(self, rows: Sequence[Row]) -> Values:
        """Returns the label of each row; None for a row without a label.

        Raises InputError if the rows do not fit the metrics of the task.
        """
        row_format = check_rows(rows, self.spec.text_fields, labeled=True)
        for metric in self.spec.metrics:
            REQUIREMENTS[metric].check(row_format, f"metric {metric}")
        if REQUIREMENTS["vector"].fit(row_format):
            return _vectors(rows)
        return _numbers(rows) if row_format.has_label else [None] * len(rows)

    def predicted(self, answers: Sequence[Answer]) -> Values:
        parts = ("embedding", "similarity", "similarities")
        return [next(x[part] for part in parts if part in x) for x in answers]

    def submission(self, answer: Answer) -> str:
        (values,) = self.predicted([answer])
        return " ".join(f"{x:.6f}" for x in np.atleast_1d(values))

    def description(self) -> dict[str, Any]:
        settings = self.spec.settings
        return {"sizes": settings.sizes, "prompts": settings.named_prompts}

    def signatures(self, model: keras.Model) -> dict[str, Signature]:
        def vectors_of(rows: Tensors) -> tf.Tensor:
            """Returns the vectors [R, K, H] of packed rows or windows."""
            rows = network_calls.group_texts(rows, 1)
            return network_calls.call_in_pieces(model, rows)["embeddings"]

        def embed(texts: tf.Tensor) -> Tensors:
            """Returns the vectors [N, H] of texts, and truncation info."""
            packed = self.preprocessor.pack(texts)
            if self._in_windows:
                vectors = vectors_of(packed.features)[:, 0]
            else:
                rows, places = network_calls.pack_texts(packed.features)
                vectors = tf.gather_nd(vectors_of(rows), places)
            return {"embedding": vectors, **packed.truncation_info()}

        def embed_after(prompt: str) -> Call:
            if not prompt:
                return embed
            return lambda texts: embed(tf.strings.join([prompt, texts]))

        def similarity(first: tf.Tensor, second: tf.Tensor) -> Tensors:
            texts = tf.reshape(tf.stack([first, second], axis=1), [-1])
            read = embed(tf.strings.join([self._prompt, texts]))
            vectors = read.pop("embedding")
            if self.spec.settings.similarity == "cosine":
                vectors = tf.math.l2_normalize(vectors, axis=-1)
            products = vectors[::2] * vectors[1::2]
            read = {name: tf.reshape(x, [-1, 2]) for name, x in read.items()}
            return {
                "similarity": tf.reduce_sum(products, axis=-1),
                "truncated": tf.reduce_any(read["truncated"], axis=1),
                "num_tokens": tf.reduce_sum(read["num_tokens"], axis=1),
            }

        inputs = self.string_inputs()
        embed = one_graph(embed, inputs[:1])
        prompts = {"serving_default": self._prompt, "embed": self._prompt} | {
            f"embed_{name}": prompt
            for name, prompt in self.spec.settings.named_prompts.items()
        }
        if self._prompt:
            prompts["embed_"] = ""
        signatures = {
            name: Signature(embed_after(prompt), inputs[:1])
            for name, prompt in prompts.items()
        }
        if len(inputs) > 1:
            signatures["similarity"] = Signature(similarity, inputs[:2])
        return signatures

    def id_signature(self, model: keras.Model) -> Signature:
        """Returns the signature that maps ids, int32 [B, S], to `embedding`.

        The vectors are [B, H]. The ids are [B, W, S] if texts are read in
        windows.
        """
        of_rows = super().id_signature(model)
        inputs = of_rows.inputs
        if not self._in_windows:
            inputs = [
                tf.TensorSpec([None] * 2, x.dtype, x.name) for x in inputs
            ]

        def call(*ids: tf.Tensor) -> Tensors:
            if not self._in_windows:  # a text is a row
                ids = tuple(x[:, None] for x in ids)
            return {"embedding": of_rows.function(*ids)["embeddings"][:, 0]}

        return Signature(call, inputs)


def build_network(
    settings: EmbeddingSettings, bert_config: BertConfig, *, packed: bool
) -> keras.Model:
    """Returns the `build_embedder` network that the settings describe."""
    return build_embedder(
        bert_config,
        pooling=settings.pooling,
        dense=settings.dense_layers,
        normalize=settings.normalize,
        packed=packed,
        window_pooling=settings.window_pooling,
    )


def _numbers(rows: Sequence[Row]) -> list[float]:
    return [find_number(row["label"], number) for number, row in numbered(rows)]


def _vectors(rows: Sequence[Row]) -> np.ndarray:
    """Returns the labels as an array [B, H]."""
    vectors: list[np.ndarray] = []
    for number, row in numbered(rows):
        try:
            vector = np.asarray(row["label"], "float32")
        except (TypeError, ValueError):
            vector = np.zeros(())
        is_right = vector.ndim == 1 and np.isfinite(vector).all()
        if not (is_right and vector.any()):
            raise InputError(
                f"The label of example {number} is "
                f"{reprlib.repr(row['label'])}, but must be a vector: a list "
                "of finite numbers that are not all 0."
            )
        if vectors and len(vector) != len(vectors[0]):
            raise InputError(
                f"The label of example {number} has {len(vector)} numbers, but "
                f"the labels before it have {len(vectors[0])}; give vectors "
                "from a single model."
            )
        vectors.append(vector)
    return np.stack(vectors)

"""A checkpoint -> an object that turns texts into vectors."""

import hashlib
import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.keras_files import config_of_network
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.config import BertConfig
from keras_bert.errors import InputError, check_count, is_list
from keras_bert.kinds.embedding.embedding import Embedding, build_network
from keras_bert.kinds.embedding.settings import EmbeddingSettings
from keras_bert.kinds.examples import Examples
from keras_bert.kinds.fields import check_text
from keras_bert.kinds.kind import text_preprocessor
from keras_bert.kinds.network_calls import group_texts
from keras_bert.kinds.spec import settings_of
from keras_bert.predict.served_model import check_no_nan
from keras_bert.progress import Progress
from keras_bert.text.packing import BertPreprocessor
from keras_bert.training.distribution import require_tensorflow

# The number of texts that are sorted by length together.
_TEXTS_PER_CHUNK = 16_384


class Embedder:
    """Turns texts into vectors.

    Example:
        >>> embedder = keras_bert.load_embedder("pretrained", max_seq_length=16)
        >>> isinstance(embedder, keras_bert.vectors.Embedder)
        True
        >>> embedder.size
        12

    Attributes:
        model: The network, as `build_embedder` returns it.
        preprocessor: The `BertPreprocessor` of the texts.
        settings: The settings: `pooling`, `normalize`, `max_seq_length`,
            `similarity` and `named_prompts`, among others.
        size: The size of a vector, D.
        checkpoint: The checkpoint that `load_embedder` read; None if the
            weights are not from `load_embedder`.
    """

    def __init__(
        self,
        model: keras.Model,
        preprocessor: BertPreprocessor,
        settings: EmbeddingSettings,
        dimensions: int | None = None,
        checkpoint: str | Path | None = None,
    ):
        """Makes an embedder from its parts; `load_embedder` is the usual way.

        `dimensions` is the size to which vectors are cut. Raises InputError if
        the network's vectors are smaller, or if Keras' backend is not
        TensorFlow.
        """
        require_tensorflow()
        whole_size = model.output["embeddings"].shape[-1]
        if dimensions is not None:
            what = "the size of the vectors of this model"
            check_count("dimensions", dimensions, whole_size, what)
        self.model = model
        self.preprocessor = preprocessor
        self.settings = settings
        self.size = dimensions or whole_size
        self.checkpoint = checkpoint
        specs = {
            name: tf.TensorSpec(x.shape, tf.int32, name)
            for name, x in model.input.items()
        }
        self._embed = tf.function(self._vectors, [specs], autograph=False)

    def embed(
        self,
        texts: Sequence[str],
        *,
        prompt_name: str | None = None,
        batch_size: int = 32,
    ) -> np.ndarray:
        """Returns the vectors of texts in order, float32 [N, D].

        The prompt named `prompt_name` precedes each text; "" means no prompt.
        By default, the name is `settings.default_prompt_name`.

        A batch has texts of similar length. The log says how many texts were
        too long for the model and were cut. If the model reads long texts in
        windows, a batch has at most `batch_size` windows, or a single text.
        """
        vectors, truncated = self.embed_and_tell(
            texts, prompt_name=prompt_name, batch_size=batch_size
        )
        self.log_truncated(int(truncated.sum()), len(vectors))
        return vectors

    def embed_and_tell(
        self,
        texts: Sequence[str],
        *,
        prompt_name: str | None = None,
        batch_size: int,
        progress: Progress | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns vectors [N, D], and which texts were cut, bool [N]."""
        check_count("batch_size", batch_size)  # even if there is no text
        prompt = self.settings.prompt(prompt_name)
        texts = [prompt + text for text in _checked(texts)]
        vectors = np.zeros((len(texts), self.size), "float32")
        truncated = np.zeros(len(texts), bool)
        for start in range(0, len(texts), _TEXTS_PER_CHUNK):
            chunk = texts[start : start + _TEXTS_PER_CHUNK]
            for places, batch, are_cut in self.batches(chunk, size=batch_size):
                vectors[start + places] = self._embed(batch).numpy()
                truncated[start + places] = are_cut
                if progress:
                    progress.update(len(places))
        check_no_nan({"embedding": vectors}, "this model")
        return vectors, truncated

    def batches(
        self, *texts: Sequence[str], size: int
    ) -> Iterator[tuple[np.ndarray, dict[str, tf.Tensor], np.ndarray]]:
        """Yields batches of texts, or pairs of texts, of similar length.

        A batch is a tuple: the indices of the texts, the inputs of the network,
        and whether each text was cut.
        """
        check_count("batch_size", size)
        packed = self.preprocessor.pack(*map(tf.constant, texts))
        truncated = packed.truncated.numpy()
        features = group_texts(packed.features, 1)
        examples = Examples(features, np.arange(len(truncated)))
        order = np.argsort(examples.lengths, kind="stable")
        for places in examples.cut(order, size):
            batch, *_ = examples.batch(tf.constant(places))
            yield places, batch, truncated[places]

    def log_truncated(self, num_truncated: int, num_texts: int) -> None:
        """Logs how many texts were cut, if any were."""
        if num_truncated:
            logging.warning(
                "%d of %d texts were longer than %s%d tokens and were cut.",
                num_truncated,
                num_texts,
                f"{self.settings.max_num_windows} windows of "
                if self.settings.in_windows
                else "",
                self.preprocessor.max_seq_length,
            )

    def fingerprint(self) -> str:
        """Returns a hash of all that determines a vector, except the text."""
        tokenizer = self.preprocessor.tokenizer
        config = config_of_network(self.model)
        read = self.settings, self.size, tokenizer.settings, tokenizer.rules
        hashed = hashlib.blake2b(digest_size=16)
        hashed.update(ascii((config, *read)).encode())
        for weight in self.model.weights:
            hashed.update(weight.numpy().tobytes())
        return hashed.hexdigest()

    def _vectors(self, features: dict[str, tf.Tensor]) -> tf.Tensor:
        vectors = self.model(features, training=False)["embeddings"][:, 0]
        vectors = vectors[:, : self.size]
        if self.settings.normalize:
            vectors = tf.math.l2_normalize(vectors, axis=-1)
        return vectors


def _checked(texts: Any) -> list[str]:
    """Returns texts as a list; refuses a single string or a DataFrame."""
    if not is_list(texts):
        shown = reprlib.repr(texts)
        raise InputError(f"texts is {shown}; give a list of strings.")
    texts = list(texts)
    for number, text in enumerate(texts, 1):
        check_text(text, f"Text {number}")
    return texts


def load_embedder(
    checkpoint: str | Path,
    *,
    dimensions: int | None = None,
    bert_config: BertConfig | None = None,
    vocab_file: str | Path | None = None,
    do_lower_case: bool | None = None,
    **settings: Any,
) -> Embedder:
    """Loads a model that turns texts into vectors.

    Example:
        >>> embedder = keras_bert.load_embedder(
        ...     "pretrained", pooling="mean", max_seq_length=16, dimensions=5
        ... )
        >>> vectors = embedder.embed(["the fox", "a dog", "a very good film"])
        >>> vectors.shape, vectors.dtype
        ((3, 5), dtype('float32'))
        >>> np.linalg.norm(vectors, axis=1).round(5)
        array([1., 1., 1.], dtype=float32)
        >>> embedder = keras_bert.load_embedder(
        ...     "pretrained", max_seq_length=16, prompts={"query": "is it "}
        ... )
        >>> embedder.embed(["a film"], prompt_name="query").shape
        (1, 12)

    Args:
        checkpoint: A fine-tuned model of the kind `embedding`, a
            sentence-transformers folder, or a pre-trained model in any format
            that `load_checkpoint` takes, with its config and vocabulary.
        dimensions: The size to which each vector is cut. By default, vectors
            are not cut. Cut vectors lose little quality if the model was
            trained for several sizes (Kusupati et al. 2022). With `normalize`,
            the norm of a cut vector is 1.
        bert_config: The config of the network; by default, the config beside
            the weights.
        vocab_file: The vocabulary; by default, the vocabulary beside the
            weights.
        do_lower_case: Whether to lower-case the text. By default, the text is
            treated as in the checkpoint's training.
        **settings: Settings of the kind `embedding`. If a setting is missing or
            None, the model's value is used; for a pre-trained model, the kind's
            default is used.

            - `pooling`: how a text gets one vector: "mean", "max", "cls" or
              "pooled".
            - `normalize`: whether to scale all vectors to the norm 1.
            - `max_seq_length`: the maximum sequence length, in tokens,
              including [CLS] and [SEP].
            - `prompts`: the prompts, keyed by name, as a dict such as
              {"query": "question: "} or as JSON.
            - `default_prompt_name`: the name of the prompt that `embed` uses by
              default; "" for no prompt.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If a setting is wrong, or if the model is of another kind.
    """
    loaded = Checkpoint.of(checkpoint)
    bert_config, tokenizer = load_config_and_tokenizer(
        loaded,
        bert_config=bert_config,
        vocab_file=vocab_file,
        do_lower_case=do_lower_case,
    )
    given = {name: x for name, x in settings.items() if x is not None}
    whole = settings_of(loaded, bert_config, Embedding, given)
    if whole.pooling == "pooled" and "pooler" not in loaded.heads:
        raise InputError(
            f"{checkpoint} has no pooler, so there is no pooling 'pooled'; "
            "choose mean, max or cls."
        )
    model = build_network(whole, bert_config, packed=False)
    load_checkpoint(model, loaded)
    preprocessor = text_preprocessor(whole, tokenizer)
    return Embedder(model, preprocessor, whole, dimensions, checkpoint)

"""Sentence embeddings: texts of like meaning get similar vectors."""

from keras_bert.kinds.embedding.embedding import Embedding

__all__ = ["Embedding"]

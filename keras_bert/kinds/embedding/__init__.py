"""A task with vectors, near to each other for texts of like meaning."""

from keras_bert.kinds.embedding.embedding import Embedding

__all__ = ["Embedding"]

"""A task with the part of a context that answers a question."""

from keras_bert.kinds.span.span import Span

__all__ = ["Span"]

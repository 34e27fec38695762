"""A task with the best of several endings of a text."""

from keras_bert.kinds.multiple_choice.multiple_choice import MultipleChoice

__all__ = ["MultipleChoice"]

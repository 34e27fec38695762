"""A task with a label for each word of a text, and its entities."""

from keras_bert.kinds.token_classification.token_classification import (
    TokenClassification,
)

__all__ = ["TokenClassification"]

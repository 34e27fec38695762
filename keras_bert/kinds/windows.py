"""Texts that are longer than the network, for kinds that answer once a text."""

from __future__ import annotations

from typing import Any

import keras

from keras_bert.errors import InputError
from keras_bert.kinds.kind import TaskSpec
from keras_bert.kinds.settings import WindowSettings
from keras_bert.models.window_pooling import pool_windows
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.windows import WindowPreprocessor


def make_preprocessor(
    spec: TaskSpec, tokenizer: BertTokenizer
) -> BertPreprocessor | WindowPreprocessor:
    """Returns what packs the texts of a task, in windows if it says so.

    Raises InputError for windows of pairs.
    """
    settings: Any = spec.settings  # WindowSettings
    if settings.in_windows and len(spec.text_fields) > 1:
        raise InputError(
            f"window_pooling is {settings.window_pooling}, but windows are cut "
            "from one text and this task has the text_fields "
            f"{', '.join(spec.text_fields)}; choose none."
        )
    return text_preprocessor(settings, tokenizer)


def text_preprocessor(
    settings: WindowSettings, tokenizer: BertTokenizer
) -> BertPreprocessor | WindowPreprocessor:
    """Returns what packs texts, in windows if the settings say so."""
    if not settings.in_windows:
        return BertPreprocessor(tokenizer, settings.max_seq_length)
    return WindowPreprocessor(
        tokenizer,
        settings.max_seq_length,
        doc_stride=settings.doc_stride,
        max_num_windows=settings.max_num_windows,
    )


def over_windows(model: keras.Model, settings: WindowSettings) -> keras.Model:
    """Returns the network of a text for the texts of `make_preprocessor`."""
    if not settings.in_windows:
        return model
    return pool_windows(model, settings.window_pooling)

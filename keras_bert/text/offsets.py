"""Where in a text its tokens are."""

from typing import NamedTuple

import tensorflow as tf


class TokensWithOffsets(NamedTuple):
    """Ids, and the part of the text from start to end that each token is.

    All are int32 RaggedTensors [B, (tokens)]. Bytes are those of the UTF-8
    string; characters are code points, as in a Python string. An invalid byte
    counts as a byte, but not as a character.
    """

    ids: tf.RaggedTensor
    start_bytes: tf.RaggedTensor
    end_bytes: tf.RaggedTensor
    start_chars: tf.RaggedTensor
    end_chars: tf.RaggedTensor

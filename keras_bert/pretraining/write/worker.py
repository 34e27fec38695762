"""A process that makes a share of the parts.

The process starts by importing this file. The file must not import TensorFlow
at the top: otherwise nothing could hide TensorFlow's first messages.
"""

import pickle
from typing import Any

from keras_bert.quiet_tensorflow import import_tensorflow

_maker: Any  # a RecordMaker


def start(maker_arguments: bytes) -> None:
    global _maker
    import_tensorflow()
    import tensorflow as tf

    from keras_bert.pretraining.write.blocks_to_parts import RecordMaker

    # Unpickling a tokenizer starts TensorFlow; afterwards, the numbers of
    # threads cannot be set.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    _maker = RecordMaker(*pickle.loads(maker_arguments))


def make_part(*part: Any) -> int:
    return _maker.make_part(*part)

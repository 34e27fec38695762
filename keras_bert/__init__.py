"""All of BERT, for TensorFlow and Keras 3.

`__init__.pyi` lists the public names. A name is imported when it is first
used, so that the network alone runs on any Keras backend, without TensorFlow.
"""

from pathlib import Path

import lazy_loader

from keras_bert.registration import register_with_keras

if Path(__file__).with_name("bert.py").exists():
    raise ImportError(
        "The folder keras_bert also holds files of the old package "
        "keras-bert; run pip uninstall keras-bert keras-bert-tf, then install "
        "keras-bert-tf."
    )
__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
register_with_keras()

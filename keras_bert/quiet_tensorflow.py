"""Imports TensorFlow quietly, in commands and the processes they start."""

import gc
import importlib.util
import os


def import_tensorflow() -> None:
    """Imports TensorFlow without its startup messages.

    TensorFlow's C++ code prints six lines about oneDNN and CUDA before any
    setting can silence them, and they would hide the first lines of a command.
    Call this before anything else imports TensorFlow. It does nothing where
    TensorFlow is not installed: a server with LiteRT, ONNX Runtime or OpenVINO
    does not need it.
    """
    if not importlib.util.find_spec("tensorflow"):
        return
    # This allocator keeps freed memory for the next step. The logits of a large
    # vocabulary take hundreds of MB, and requesting this memory again at each
    # step takes longer than computing the logits.
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")
    # By default, TensorFlow uses oneDNN only on a processor with AVX-512. With
    # AVX2, matrix products are faster with oneDNN too.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Modules are not garbage, but they hold so many objects that the search
    # for garbage takes an eighth of the import's time.
    gc.disable()
    stderr = os.dup(2)
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        import tensorflow  # noqa: F401
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
    gc.freeze()
    gc.enable()

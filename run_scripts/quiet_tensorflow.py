"""Imports TensorFlow without its startup messages.

Its C++ code prints six lines about oneDNN and CUDA before any setting can
silence them, and they would hide the first lines of a script.
"""

import contextlib
import gc
import os
import tempfile


def import_tensorflow() -> None:
    """Imports TensorFlow; call this before anything else imports it."""
    # This allocator keeps its memory. The logits of a large vocabulary take
    # hundreds of MB. Requesting them from the system at each step takes longer
    # than computing them.
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "true")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Modules are no garbage, but there are so many objects in them that looking
    # for some takes an eighth of the time of the import.
    gc.disable()
    with _stderr_held_back():
        import tensorflow  # noqa: F401
    gc.freeze()
    gc.enable()


@contextlib.contextmanager
def _stderr_held_back():
    """Discards standard error, but shows it if an exception is raised."""
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), 2)
        try:
            yield
        except BaseException:
            held_back.seek(0)
            os.write(stderr, held_back.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)

"""Simulates a full disk for this process."""

import contextlib
import resource
import sys


@contextlib.contextmanager
def full_disk(max_size):
    """Lets no file grow beyond `max_size` bytes.

    The limit also holds for the output of pytest if that goes to a file. Python
    stores no bytecode meanwhile: it would keep the part of a file that fits,
    and every later import of that module would fail
    (https://github.com/python/cpython/issues/126606).
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    dont_write_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = dont_write_bytecode

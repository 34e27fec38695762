"""Simulates a full disk for this process."""

import contextlib
import resource


@contextlib.contextmanager
def full_disk(max_size):
    """Lets no file grow beyond `max_size` bytes.

    The limit also holds for the output of pytest if that goes to a file.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

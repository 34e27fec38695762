"""A disk that is full, as far as this process can tell."""

import contextlib
import resource


@contextlib.contextmanager
def full_disk(max_size):
    """No file grows over so many bytes; nor may what pytest prints, outside."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

"""A name that a user gives -> a path, on this machine or on a store.

A store keeps objects under names, and has neither folders nor renaming. A path
on a store has pathlib's methods. Never call `mkdir` on such a path, because
`mkdir` may create a bucket.
"""

import os
import re
from pathlib import Path
from typing import cast

from keras_bert.errors import InputError

# pathlib turns "gs://bucket" into "gs:/bucket". A scheme has at least two
# letters, because one letter before the colon is a Windows drive.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/(?!/)|[a-z][a-z0-9+.-]+://")


def to_path(path: str | Path) -> Path:
    """Returns a pathlib.Path, or a UPath for a URL such as "s3://bucket/run".

    For mypy, both are a Path. The libraries for stores (extra `storage`) read
    the login and the endpoint from their usual files and environment variables,
    such as AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL.

    Raises:
        InputError: If `path` is not a path, or there is no library for the URL.
        OSError: If the store does not answer, or denies access.
    """
    # A UPath on a store has parts, but is not an os.PathLike.
    if not isinstance(path, (str, os.PathLike)) and not hasattr(path, "parts"):
        raise InputError(
            f"A path is {path!r:.80}, but must be a string or a pathlib.Path."
        )
    scheme = _SCHEME.match(str(path))
    if not scheme:
        return Path(path).expanduser()
    # A UPath is used as it is, because it may have options of the caller.
    url = str(path).replace(":/", "://", 1) if scheme[1] else path
    try:
        import upath

        # No cache, because other processes write to the store too.
        remote = upath.UPath(url, use_listings_cache=False)
        filesystem = remote.fs
    except (ImportError, ValueError) as error:
        raise InputError(
            f"{url} cannot be read ({error}); give a local path, or run pip "
            "install 'keras-bert-tf[storage]' and give a URL such as "
            "s3://bucket/name."
        ) from error
    if isinstance(remote, os.PathLike):  # file://
        return Path(remote)
    if isinstance(path, (str, Path)):
        try:
            # Only a listing shows whether there is such a bucket.
            filesystem.exists(remote.path) or filesystem.find(remote.path)
        except Exception as error:  # each library has errors of its own
            raise OSError(
                f"{url} cannot be read ({error}); check the name, the "
                "connection and your access."
            ) from error
    return cast(Path, remote)


def is_remote(path: Path) -> bool:
    """Returns whether a path from `to_path` is on a store."""
    return not isinstance(path, Path)

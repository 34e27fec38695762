"""Arrays -> a safetensors file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import numpy as safetensors_numpy


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays to a safetensors file with the usual permissions.

    `save_file` alone makes a file that only its owner may read. A server that
    runs as another user could not load such a model.
    """
    file.touch()
    mode = file.stat().st_mode
    # transformers reads only files with this metadata.
    safetensors_numpy.save_file(dict(arrays), file, {"format": "pt"})
    file.chmod(mode)

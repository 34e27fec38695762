import pytest
from small_checkpoint import write_checkpoint

from keras_bert.vectors.embedder import load_embedder


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory, config):
    return write_checkpoint(tmp_path_factory.mktemp("m") / "encoder", config)


@pytest.fixture(scope="session")
def embedder(checkpoint):
    """Cuts texts to 9 tokens; the vectors have 12 numbers."""
    return load_embedder(checkpoint, max_seq_length=9)

import pytest
from small_checkpoint import write_checkpoint

from keras_bert.embeddings.embedder import load_embedder


@pytest.fixture(scope="session")
def embedder(tmp_path_factory, config):
    folder = tmp_path_factory.mktemp("m") / "encoder"
    return load_embedder(write_checkpoint(folder, config), max_seq_length=15)

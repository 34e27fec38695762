import dataclasses

import pytest
from conftest import write_vocab


@pytest.fixture(scope="session")
def config(config):
    # One layer makes a smaller graph. The encoder is not tested here.
    return dataclasses.replace(config, num_hidden_layers=1)


@pytest.fixture(scope="session")
def vocab_file(tmp_path_factory):
    return write_vocab(tmp_path_factory.mktemp("vocab"))

import dataclasses

import pytest


@pytest.fixture(scope="session")
def config(config):
    # One layer makes a smaller graph. The encoder is not tested here.
    return dataclasses.replace(config, num_hidden_layers=1)

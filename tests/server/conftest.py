"""The small model, and a server of it that many tests share."""

import pytest
from small_saved_model import save_small_model, save_small_reranker
from small_server import client_of


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """A folder with version 1."""
    folder = tmp_path_factory.mktemp("served") / "small"
    save_small_model(folder / "1")
    return folder


@pytest.fixture(scope="session")
def upper_model(tmp_path_factory):
    """A folder with version 1, with few signatures: it loads in a second."""
    folder = tmp_path_factory.mktemp("served") / "small"
    save_small_model(folder / "1", signatures=["upper", "pair", "version"])
    return folder


@pytest.fixture(scope="session")
def reranker(tmp_path_factory):
    """A client of a server whose only model is a reranker."""
    folder = tmp_path_factory.mktemp("served") / "small"
    save_small_reranker(folder / "1")
    with client_of(folder) as client:
        yield client


@pytest.fixture(scope="session")
def client(small_model):
    with client_of(small_model) as client:
        yield client

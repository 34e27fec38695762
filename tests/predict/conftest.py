import pytest
from tiny_served_model import export_tiny_model


@pytest.fixture(scope="session")
def served(config, tmp_path_factory):
    """The folder of a tiny classification model."""
    return export_tiny_model(
        tmp_path_factory.mktemp("served") / "model",
        config,
        "classification",
        labels=("no", "yes"),
    )

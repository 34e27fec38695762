import pytest
from exported_models import export_model
from tiny_served_model import export_tiny_model


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A function from a name in `MODELS` to the folder of the SavedModel."""
    folders = {}

    def exported(name):
        if name not in folders:
            folders[name] = export_model(name, tmp_path_factory.mktemp("model"))
        return folders[name]

    return exported


@pytest.fixture(scope="module")
def served(config, tmp_path_factory):
    """The folder of a tiny classification model."""
    return export_tiny_model(
        tmp_path_factory.mktemp("served") / "model",
        config,
        "classification",
        labels=("no", "yes"),
    )

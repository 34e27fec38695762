import pytest
from exported_models import export_model


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A function from a name in `MODELS` to the folder of the SavedModel."""
    folders = {}

    def exported(name):
        if name not in folders:
            folders[name] = export_model(name, tmp_path_factory.mktemp("model"))
        return folders[name]

    return exported

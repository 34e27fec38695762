import pytest
from exported_models import export_model


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """A function from a name in `MODELS` to the folder of the SavedModel."""
    folders = {}

    def exported(name, *, portable=False):
        if (name, portable) not in folders:
            folder = tmp_path_factory.mktemp("model")
            version = export_model(name, folder, portable=portable)
            folders[name, portable] = version
        return folders[name, portable]

    return exported

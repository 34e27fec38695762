import pytest
from short_records import write_short_records


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return write_short_records(tmp_path_factory.mktemp("records"))

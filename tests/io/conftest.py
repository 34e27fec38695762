import pytest


@pytest.fixture(params=["tmp_path", "remote"])
def folder(request):
    """An empty folder on this machine, and one on a store."""
    return request.getfixturevalue(request.param)

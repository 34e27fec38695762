"""The page's files, and the list of models that it reads."""

from pathlib import Path

import pytest
from small_saved_model import DESCRIPTION

from keras_bert.server import run
from keras_bert.server.servable import Servable
from keras_bert.server.versions import ModelVersions

TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def test_the_models(client, small_model):
    loading = ModelVersions("later", small_model, Servable, {})
    client.server.state.models["later"] = loading
    try:
        response = client.get("/page/models")
    finally:
        del client.server.state.models["later"]
    assert response.json() == {
        "models": [
            {
                "name": "small",
                "version": 1,
                **{
                    name: DESCRIPTION[name]
                    for name in ("kind", "labels", "text_fields", "signatures")
                },
                "mask": "[MASK]",
            }
        ],
        "loading": ["later"],
    }


@pytest.mark.parametrize(
    "path",
    ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "..%5capp.py"]
    + ["%00", "page.js%00", "x" * 3000, ""],
)
def test_only_the_files_of_the_page_are_served(client, path):
    response = client.get(f"/page/{path}")
    assert response.status_code == 404
    assert list(response.json()) == ["error"]


def test_all_files_of_the_page_are_served(client):
    files = [x for x in Path(run.__file__).parent.glob("page/*") if x.is_file()]
    assert len(files) > 4
    for file in files:
        response = client.get(f"/page/{file.name}")
        assert response.content == file.read_bytes()
        media_type = response.headers["content-type"].partition(";")[0]
        assert media_type == TYPES[file.suffix]
        assert (
            "default-src 'self'" in response.headers["content-security-policy"]
        )
    assert client.get("/").text == client.get("/page/index.html").text

"""The page's files, and the list of models that it reads."""

import pytest
from small_saved_model import DESCRIPTION


def test_the_models(client):
    response = client.get("/page/models")
    assert response.json() == [
        {
            "name": "small",
            "version": 1,
            **{
                name: DESCRIPTION[name]
                for name in ("kind", "labels", "text_fields", "signatures")
            },
        }
    ]


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "%00",
        "x" * 3000,
        "..%5capp.py",
        "page.js%00",
        "",
    ],
)
def test_only_the_files_of_the_page_are_served(client, path):
    response = client.get(f"/page/{path}")
    assert response.status_code == 404
    assert list(response.json()) == ["error"]

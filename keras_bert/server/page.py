"""The page on which a person tries the models: static files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_bert.server.refusal import Refusal
from keras_bert.server.versions import ModelVersions

_FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Maps paths to files. Only these are served, whatever a path says.
FILES = {
    f"/page/{file.name}": file
    for file in _FOLDER.glob("*")
    if file.suffix in _TYPES
}
FILES["/"] = FILES["/page/index.html"]
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FIELDS = ("kind", "labels", "text_fields", "signatures")


def routes(models: Mapping[str, ModelVersions]) -> list[Route]:
    """Returns the routes of the page, and of the models that it lists."""
    contents = {path: file.read_bytes() for path, file in FILES.items()}

    async def file(request: Request) -> Response:
        request.scope["record"]["route"] = "page"
        path = request.scope["path"]
        return Response(
            contents[path],
            headers=_HEADERS,
            media_type=_TYPES[FILES[path].suffix],
        )

    async def list_models(request: Request) -> Response:
        request.scope["record"]["route"] = "page"
        found = [_described(model) for model in models.values()]
        return Response(
            json.dumps([x for x in found if x]),
            headers={"Cache-Control": "no-store"},
            media_type="application/json",
        )

    return [
        *(Route(path, file) for path in FILES),
        Route("/page/models", list_models),
    ]


def _described(model):
    """Returns None if there is nothing that the page could ask a model."""
    try:
        with model.use() as version:
            description = version.servable.description
            if not all(field in description for field in _FIELDS):
                return None
            return {
                "name": model.name,
                "version": version.number,
                **{field: description[field] for field in _FIELDS},
            }
    except Refusal:  # it is not loaded yet
        return None

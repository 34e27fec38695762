"""The page for a browser: its files, and the models that it can ask."""

import contextlib
import json
import mimetypes
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from keras_bert.server.contract import Contract
from keras_bert.server.refusal import Refusal
from keras_bert.server.state import ServerState

_FOLDER = Path(__file__).parent.parent / "page"
# Only these files are served, whatever a path says.
_FILES = {f"/page/{file.name}": file for file in _FOLDER.iterdir()}
_FILES |= {"/": _FOLDER / "index.html", "/docs": _FOLDER / "docs.html"}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_FIELDS = ("kind", "labels", "text_fields", "signatures")


def page(request: Request, server: ServerState) -> Response:
    file = _FILES[request.scope["path"]]
    media_type, _ = mimetypes.guess_type(file)
    return Response(file.read_bytes(), 200, _HEADERS, media_type)


def page_models(request: Request, server: ServerState) -> str:
    """Returns the models that the page can ask, and those not yet loaded."""
    ready = []
    for model in server.models.values():
        with contextlib.suppress(Refusal), model.use() as version:
            description = version.servable.description
            if all(field in description for field in _FIELDS):
                fields = {x: description[x] for x in _FIELDS}
                # Exports from older releases have no `mask`. They are all BERT
                # models.
                fields["mask"] = description.get("mask", "[MASK]")
                number = version.number
                ready.append({"name": model.name, "version": number, **fields})
    loading = [x.name for x in server.models.values() if not x.is_ready()]
    return json.dumps({"models": ready, "loading": loading})


FILES = Contract({f"GET {path}": page for path in _FILES}, needs_key=False)
CONTRACT = Contract({"GET /page/models": page_models})

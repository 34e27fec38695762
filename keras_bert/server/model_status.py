"""What the server tells of its models, to each kind of client."""

import contextlib
import json
from collections.abc import Iterable, Mapping

from keras_bert.server.config import ServerConfig
from keras_bert.server.refusal import Refusal
from keras_bert.server.versions import ModelVersions, Version

_PAGE_FIELDS = ("kind", "labels", "text_fields", "signatures")


def status_json(name: str, versions: list[Version], number: int | None) -> str:
    """Returns TensorFlow Serving's status of all versions, or of one."""
    found = [x for x in versions if number in (None, x.number)]
    if not found:
        what = "any versions" if number is None else f"version {number}"
        raise Refusal(f"Could not find {what} of model {name}", 404)
    statuses = []
    for x in found:
        code = "UNKNOWN" if x.error else "OK"
        status = {"error_code": code, "error_message": x.error}
        entry = {"version": str(x.number), "state": x.state, "status": status}
        statuses.append(entry)
    return json.dumps({"model_version_status": statuses})


def metadata_json(name: str, version: Version) -> str:
    """Returns TensorFlow Serving's GetModelMetadataResponse.

    As it does, without the @type that JSON has for an Any.
    """
    signatures = {
        key: signature.definition
        for key, signature in version.servable.signatures.items()
    }
    spec = {"name": name, "signature_name": "", "version": str(version.number)}
    metadata = {"signature_def": {"signature_def": signatures}}
    return json.dumps({"model_spec": spec, "metadata": metadata})


def page_json(models: Mapping[str, ModelVersions]) -> str:
    """Returns the models that the page can ask, and those still loading."""
    found = []
    for model in models.values():
        with contextlib.suppress(Refusal), model.use() as version:
            description = version.servable.description
            if all(field in description for field in _PAGE_FIELDS):
                fields = {x: description[x] for x in _PAGE_FIELDS}
                number = version.number
                found.append({"name": model.name, "version": number, **fields})
    loading = [name for name, model in models.items() if not model.is_ready()]
    return json.dumps({"models": found, "loading": loading})


def info_json(name: str, version: Version, config: ServerConfig) -> str:
    """Returns text-embeddings-inference's description of a model, and more."""
    description = version.servable.description
    labels = dict(enumerate(description.get("labels", ())))
    kind = description.get("kind", "unknown")
    info = {"model_id": name, "model_version": version.number}
    info["model_type"] = {kind: {"id2label": labels}}
    info["max_input_length"] = description.get("max_seq_length")
    info["prompts"] = description.get("prompts", {})
    info["max_client_batch_size"] = config.max_texts
    info["max_concurrent_requests"] = config.max_connections
    return json.dumps(info | {"auto_truncate": False})


def openai_json(names: Iterable[str], since: int) -> str:
    """Returns OpenAI's list of models."""
    data = ", ".join(openai_model_json(name, since) for name in names)
    return f'{{"object": "list", "data": [{data}]}}'


def openai_model_json(name: str, since: int) -> str:
    """Returns OpenAI's description of a model."""
    values = {"id": name, "object": "model", "created": since}
    return json.dumps(values | {"owned_by": "keras_bert"})


def readiness_json(models: Mapping[str, ModelVersions]) -> str:
    """Returns that all models are loaded, and of which the store fails.

    Raises Refusal if one is not loaded.
    """
    failed = {
        name: f"{model.store_error}, {model.failed_polls} times"
        for name, model in models.items()
        if model.store_error
    }
    for name, model in models.items():
        if not model.is_ready():
            reason = failed.get(name, "the server's log has more")
            raise Refusal(f"The model {name} is not loaded ({reason}).", 503)
    polls = {"failed_polls": failed} if failed else {}
    return json.dumps({"status": "ready", **polls})

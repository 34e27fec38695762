"""Logs as lines of JSON on standard output, without the texts of users."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

_LOGGER = logging.getLogger("keras_bert.server")


def log(event: str, **values: Any) -> None:
    """Logs an event with the given values, keyed by name."""
    _LOGGER.info("", extra={"event": {"event": event, **values}})


def write_logs_as_json() -> None:
    """Sends events and uvicorn's messages to standard output as JSON."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_JsonFormatter())
    for logger in (_LOGGER, logging.getLogger("uvicorn")):
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False


def frames_of(error: BaseException) -> list[str]:
    """Returns the frames of an error's traceback, as "file:line function".

    The message of the error is left out, because it may quote a text.
    """
    return [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event = getattr(record, "event", None)
        if event is None:
            event = {"event": "message", "message": record.getMessage()}
            if record.exc_info and record.exc_info[1]:
                event["error"] = type(record.exc_info[1]).__name__
                event["frames"] = frames_of(record.exc_info[1])
        now = datetime.fromtimestamp(record.created, UTC)
        return json.dumps({"time": now.isoformat(), **event})

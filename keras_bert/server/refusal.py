"""What a client did wrong: a status and a sentence."""

from __future__ import annotations


class Refusal(Exception):
    """Ends a request with a status below 500 and a sentence for the client.

    Attributes:
        status: The HTTP status.
        sentence: What was wrong, what was expected, what to do.
        headers: Headers of the answer, such as Retry-After.
    """

    def __init__(
        self, status: int, sentence: str, headers: dict[str, str] | None = None
    ):
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers or {}


def busy(sentence: str) -> Refusal:
    """Returns a refusal that asks the client to come back in a second."""
    return Refusal(429, sentence, {"Retry-After": "1"})

"""The exception for a request that is refused."""


class Refusal(Exception):
    """An exception that ends a request: a message and a status for the client.

    Attributes:
        sentence: The message: what was wrong, what was expected, what to do.
        status: The HTTP status.
        headers: The headers of the answer.
    """

    def __init__(
        self,
        sentence: str,
        status: int = 400,
        headers: dict[str, str] | None = None,
    ):
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status
        self.headers = headers or {}
        if status in (429, 503):
            self.headers["Retry-After"] = "1"

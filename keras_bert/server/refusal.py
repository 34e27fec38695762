"""The exception for a request that is refused."""

import dataclasses


@dataclasses.dataclass(eq=False)
class Refusal(Exception):
    """An exception that ends a request: a message and a status for the client.

    Attributes:
        sentence: The message: what was wrong, what was expected, what to do.
        status: The HTTP status.
        headers: The headers of the answer.
    """

    sentence: str
    status: int = 400
    headers: dict[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.sentence)
        if self.status in (429, 503):
            self.headers["Retry-After"] = "1"

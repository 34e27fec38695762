"""A step that a contestant repeats with one batch."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable
from typing import Any

from contestant import Case, Prepared


@dataclasses.dataclass
class Step:
    """A step that a contestant repeats.

    Attributes:
        run: A function that takes the step `num_steps` times, and waits for the
            accelerator.
        num_steps: The number of steps in a call of `run`.
        memory: A function that returns the bytes that the step needs on the
            accelerator, or None if they are not known.
        program: A function that returns the compiled step as a string.
    """

    run: Callable[[], object]
    num_steps: int
    memory: Callable[[], int | None]
    program: Callable[[], str] = str


def prepared(
    build: Callable[..., Step],
    *,
    flops: Callable[[Case], float] | None = None,
    check: Callable[[object], list] | None = None,
) -> Prepared:
    """Returns a work whose seconds and `flops` are for one sequence.

    `build` is called at the first run of a case. `check` takes the result of
    this first run, because the number of later runs varies.
    """
    # Only the last case is kept, because its weights fill the memory.
    last: dict[str, Any] = {}

    def run(case):
        if case == last.get("case"):
            return last["step"].run()
        last.clear()
        gc.collect()
        last["step"] = build(**case)
        result = last["step"].run()
        last["check"] = check and check(result)
        last["case"] = case
        return result

    def scale(case):
        return 1 / (case["batch_size"] * last["step"].num_steps)

    def figures(case):
        return {
            "batch_size": case["batch_size"],
            "device_memory": last["step"].memory(),
        }

    return Prepared(
        run, check and (lambda _: last["check"]), flops, scale, figures
    )

"""A step that a contestant takes again and again with one batch."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Callable
from typing import Any

from contestant import Case, Prepared


@dataclasses.dataclass
class Step:
    """What a contestant does again and again.

    Attributes:
        run: Takes the step `num_steps` times, and waits for the accelerator.
        num_steps: How often a call of `run` takes the step.
        memory: Returns the bytes of the accelerator that the step needs, or
            None if that is not known.
        program: Returns what the compiler made of the step, as a text.
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
    """Returns a work whose seconds, and `flops`, are those of one sequence.

    `build` takes a case, at its first run. `check` takes the result of that
    run: not always do as many follow.
    """
    # The last case only: its weights fill the memory.
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

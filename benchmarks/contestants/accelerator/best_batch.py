"""The batch size at which a contestant is fastest, among those that fit."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable
from typing import NamedTuple

from contestant import Case, Prepared

_TRIAL_SECONDS = 0.5


@dataclasses.dataclass
class Step:
    """What a contestant does again and again with one batch.

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

    `build` takes `batch_size` and the case, but for its `batch_sizes`. At the
    first run of a case, each of these sizes is tried, the smallest first,
    until one does not fit or is slower than the one before it. `check` takes
    the result of a step's first run: not always do as many follow.
    """
    # The last case only: its weights fill the memory.
    chosen: dict[str, tuple[Case, _Choice]] = {}

    def choice(case):
        if "last" not in chosen or chosen["last"][0] != case:
            chosen.clear()
            gc.collect()
            chosen["last"] = case, _fastest(build, check, **case)
        return chosen["last"][1]

    def scale(case):
        return 1 / (choice(case).batch_size * choice(case).step.num_steps)

    def figures(case):
        return {
            "batch_size": choice(case).batch_size,
            "device_memory": choice(case).step.memory(),
        }

    return Prepared(
        lambda case: choice(case).step.run(),
        check and (lambda _: chosen["last"][1].checked),
        flops,
        scale,
        figures,
    )


class _Choice(NamedTuple):
    speed: float  # sequences per second
    batch_size: int
    step: Step
    checked: list | None


def _fastest(build, check, *, batch_sizes, **case):
    best = None
    for batch_size in batch_sizes:
        try:
            step = build(batch_size=batch_size, **case)
            result = step.run()  # compiles
            speed = batch_size / _seconds(step)
        except RuntimeError as error:
            if best is None or not _is_out_of_memory(error):
                raise
            break
        print(f"batch {batch_size}: {speed:.1f} sequences/s", flush=True)
        if best and speed <= best.speed:
            break
        best = _Choice(speed, batch_size, step, check and check(result))
    return best


def _seconds(step):
    num_runs = 0
    begin = time.perf_counter()
    while num_runs == 0 or time.perf_counter() - begin < _TRIAL_SECONDS:
        step.run()
        num_runs += 1
    return (time.perf_counter() - begin) / (num_runs * step.num_steps)


def _is_out_of_memory(error):
    """Both JAX and torch raise a RuntimeError that says so."""
    text = str(error)
    return "RESOURCE_EXHAUSTED" in text or "out of memory" in text

"""Measures one work: starts its contestants and lets them take turns."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from typing import Any

from comparison.environments import CACHE, ROOT, Environments
from comparison.machine import describe_machine, num_threads
from comparison.other_load import OtherLoad
from comparison.turns import ContestantError, Process, take_turns
from comparison.work import Contestant, Work


def measure(
    work: Work,
    environments: Environments,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Returns the result of a work, as `write_result` takes it.

    A contestant that fails is left out, and `report` gets a line about it.
    """
    result: dict[str, Any] = {
        "machine": describe_machine(),
        "versions": {},
        "peak_memory": {},
        "cases": {},
    }
    with contextlib.ExitStack() as stack:

        def start(contestant):
            try:
                process = start_contestant(contestant, work.name, environments)
            except ContestantError as error:
                report(str(error))
                return []
            stack.callback(process.close)
            return [process]

        processes = [p for c in work.contestants for p in start(c)]
        product = [
            p for c in (work.matrix_product,) if c is not None for p in start(c)
        ]

        def own_seconds():
            used = sum(p.cpu_seconds for p in processes + product)
            return used + time.process_time()

        others = OtherLoad(own_seconds())
        for name, case in work.cases.items():
            taken = take_turns(
                processes + product,
                case,
                rounds=work.rounds,
                untimed_rounds=work.untimed_rounds,
                max_seconds=work.max_seconds,
                min_seconds=work.min_seconds,
                clock=work.clock,
                report=report,
            )
            for process in product:
                speeds = taken.pop(process.name, {}).get("results", [])
                result.setdefault("matrix_product", []).extend(speeds)
            for figures in taken.values():
                figures.pop("results", None)
            _compare_checks(taken)
            result["cases"][name] = taken
        result["other_load"] = others.share(own_seconds())
        for process in processes:
            result["versions"][process.name] = process.versions
            result["peak_memory"][process.name] = process.peak_memory
    return result


def start_contestant(
    contestant: Contestant, work: str, environments: Environments
) -> Process:
    """Starts a contestant, with as many threads as there are cores."""
    log_name = re.sub(r"\W+", "_", f"{work}-{contestant.name}")
    return Process(
        contestant.name,
        environments.python(contestant.environment),
        contestant.file,
        {**contestant.options, "num_threads": num_threads()},
        environment=environment_variables(contestant.environment),
        log_file=CACHE / "logs" / f"{log_name}.txt",
    )


def environment_variables(environment: str) -> dict[str, str]:
    """Returns the variables of a process: all use as many threads."""
    threads = str(num_threads())
    variables = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "-1",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": threads,
        "RAYON_NUM_THREADS": threads,
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_NUM_INTRAOP_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "true",
    }
    variables.pop("PYTHONPATH", None)
    if environment == "keras_bert":
        variables["PYTHONPATH"] = str(ROOT)  # this checkout
    return variables


def _compare_checks(taken):
    """Replaces `check` by the `difference` from that of the first one."""
    checks = {name: x.pop("check", None) for name, x in taken.items()}
    first = next((x for x in checks.values() if x is not None), None)
    for name, check in checks.items():
        if check is not None:
            taken[name]["difference"] = difference(first, check)


def difference(first: list, second: list) -> float:
    """Returns the largest difference of numbers, or how many texts differ."""
    pairs = list(zip(first, second, strict=True))
    if any(isinstance(x, str) for x in first):
        return sum(a != b for a, b in pairs)
    return max(abs(a - b) for a, b in pairs)

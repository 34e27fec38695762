"""A work -> its measured result: starts contestants, which take turns."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
from typing import Any

from comparison.accelerator import describe_accelerator
from comparison.environments import CACHE, ROOT, Environments
from comparison.machine import describe_machine, num_threads
from comparison.other_load import OtherLoad
from comparison.turns import ContestantError, Process, take_turns
from comparison.work import Contestant, Work

# The environments that import this checkout -> their environment variables.
_OF_OURS = {
    "keras_bert": {},
    "jax": {"KERAS_BACKEND": "jax"},
}
# The share of the accelerator's memory for all contestants on JAX together. The
# rest is for torch, which takes as much as it needs.
_JAX_MEMORY = 0.75


def measure(
    work: Work,
    environments: Environments,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Returns the result of a work, in the form that `write_result` takes.

    A contestant that fails is left out, and `report` gets a line about it.
    """
    result: dict[str, Any] = {
        "machine": describe_machine(),
        "versions": {},
        "peak_memory": {},
        "cases": {name: {} for name in work.cases},
    }
    if work.on_accelerator:
        result["machine"]["accelerator"] = describe_accelerator()
    product = [work.matrix_product] if work.matrix_product else []
    with contextlib.ExitStack() as stack:
        processes = []
        for contestant in (*work.contestants, *product):
            try:
                process = start_contestant(contestant, work, environments)
            except ContestantError as error:
                report(str(error))
                continue
            stack.callback(process.close)
            processes.append(process)
        result["other_load"] = _take_all_turns(processes, work, result, report)
    if work.matrix_product:
        _keep_speeds_only(work.matrix_product.name, result)
    for taken in result["cases"].values():
        for figures in taken.values():
            figures.pop("results", None)
        _compare_checks(taken)
    return result


def _take_all_turns(processes, work, result, report):
    """Adds the figures to the result; returns the load of other processes."""

    def own_seconds():
        return sum(p.cpu_seconds for p in processes) + time.process_time()

    others = OtherLoad(own_seconds())
    for name, case in work.cases.items():
        result["cases"][name] |= take_turns(
            processes,
            case,
            rounds=work.rounds,
            untimed_rounds=work.untimed_rounds,
            max_seconds=work.max_seconds,
            min_seconds=work.min_seconds,
            clock=work.clock,
            first_at_once=work.on_accelerator,
            report=report,
        )
    load = others.share(own_seconds())
    for process in processes:
        result["versions"][process.name] = process.versions
        result["peak_memory"][process.name] = process.peak_memory
    return load


def _keep_speeds_only(product, result):
    """Moves the speeds of the matrix product to `result["matrix_product"]`."""
    cases = result["cases"].values()
    results = [taken.pop(product, {}).get("results", []) for taken in cases]
    result["matrix_product"] = [speed for x in results for speed in x]
    for part in ("versions", "peak_memory"):
        result[part].pop(product, None)


def start_contestant(
    contestant: Contestant, work: Work, environments: Environments
) -> Process:
    """Returns a started contestant, with as many threads as cores."""
    log_name = re.sub(r"\W+", "_", f"{work.name}-{contestant.name}")
    return Process(
        contestant.name,
        environments.python(contestant.environment),
        contestant.file,
        {**contestant.options, "num_threads": num_threads()},
        environment=environment_variables(
            contestant.environment, on_accelerator=work.on_accelerator
        )
        | _memory_share(contestant, work),
        log_file=CACHE / "logs" / f"{log_name}.txt",
    )


def _memory_share(contestant: Contestant, work: Work) -> dict[str, str]:
    """Returns the variable for JAX's share of the accelerator's memory."""
    if not work.on_accelerator or contestant.environment != "jax":
        return {}
    share = 0.04
    if contestant != work.matrix_product:
        share = _JAX_MEMORY / sum(
            c.environment == "jax" for c in work.contestants
        )
    return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{share:.2f}"}


def environment_variables(
    environment: str, *, on_accelerator: bool = False
) -> dict[str, str]:
    """Returns the environment variables of a contestant's process.

    All contestants use the same number of threads. Without `on_accelerator`,
    the process sees no GPU.
    """
    threads = str(num_threads())
    variables = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": threads,
        "RAYON_NUM_THREADS": threads,
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_NUM_INTRAOP_THREADS": threads,
        "TOKENIZERS_PARALLELISM": "true",
    }
    if not on_accelerator:
        variables["CUDA_VISIBLE_DEVICES"] = "-1"
    variables.pop("PYTHONPATH", None)
    if environment in _OF_OURS:
        variables |= _OF_OURS[environment]
        variables["PYTHONPATH"] = str(ROOT)  # this checkout
    return variables


def _compare_checks(taken):
    """Replaces each `check` by its `difference` from the first `check`."""
    checks = {name: x.pop("check", None) for name, x in taken.items()}
    first = next((x for x in checks.values() if x is not None), None)
    for name, check in checks.items():
        if check is not None:
            taken[name]["difference"] = difference(first, check)


def difference(first: list, second: list) -> float:
    """Returns the largest difference, or the number of texts that differ."""
    pairs = list(zip(first, second, strict=True))
    if any(isinstance(x, str) for x in first):
        return sum(a != b for a, b in pairs)
    return max(abs(a - b) for a, b in pairs)

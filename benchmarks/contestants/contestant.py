"""One contestant of a comparison, in a process of its own.

    python contestant.py FILE OPTIONS

FILE is in this folder, such as `inference/onnxruntime.py`, and OPTIONS are a
JSON object. `comparison/turns.py` starts the process with the Python of the
contestant's environment, so this file needs only the standard library.

A contestant's file defines PACKAGES, the names of the packages whose versions
are in the results, and `prepare(options)`, which returns a `Prepared`.
`options["num_threads"]` is the number of threads to use.

The process reads and writes a JSON object per line. It first says that it is
ready. Then it runs each case that a line asks for, and answers with the time.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

Case = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Prepared:
    """The work of a contestant, ready to be timed.

    Attributes:
        run: A function that takes a case, does all work and returns a result.
        check: A function from a case's result to a list of numbers or texts,
            which can be compared with other contestants' lists.
        flops: A function from a case to the FLOPs of its matrix products.
        scale: A function from a case to a number by which the seconds are
            multiplied, for example if only a sample of an epoch is run.
        figures: A function from a case to more numbers for the tables, by name,
            such as the `batch_size`.
    """

    run: Callable[[Case], Any]
    check: Callable[[Any], list] | None = None
    flops: Callable[[Case], float] | None = None
    scale: Callable[[Case], float] | None = None
    figures: Callable[[Case], Mapping[str, Any]] | None = None


def main(file: str, options: str):
    answers = _take_standard_output()
    # The file is imported as a module of its folder, because only the folder
    # `contestants` is on the path. So a file may have the name of the package
    # that it imports.
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    prepared = module.prepare(json.loads(options))
    versions = {p: importlib.metadata.version(p) for p in module.PACKAGES}
    _write(answers, {"versions": versions} | _usage())
    for line in sys.stdin:
        _write(answers, _answer(prepared, json.loads(line)))


def _answer(prepared, request):
    """Returns the answer to a request; repeats the case for `min_seconds`."""
    case = request["case"]
    clock = {"wall": time.perf_counter, "cpu": time.process_time}[
        request["clock"]
    ]
    num_runs = 0
    begin, clock_begin = time.perf_counter(), clock()
    while True:
        result = prepared.run(case)
        num_runs += 1
        elapsed = clock() - clock_begin
        if time.perf_counter() - begin >= request["min_seconds"]:
            break
        del result  # frees the memory before the next result is made
    scale = prepared.scale(case) if prepared.scale else 1
    answer = {"seconds": scale * elapsed / num_runs, "num_runs": num_runs}
    if isinstance(result, float):
        answer["result"] = result
    if request["wants_check"]:
        if prepared.check:
            answer["check"] = prepared.check(result)
        if prepared.flops:
            answer["flops"] = float(prepared.flops(case))
        if prepared.figures:
            answer["figures"] = prepared.figures(case)
    return answer | _usage()


def _usage():
    """Returns the memory and the time that the process has used up to now.

    The memory is the peak memory of the process, in bytes, including the code
    of its libraries.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "peak_memory": unit * usage.ru_maxrss,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
    }


def _take_standard_output():
    """Returns a file for the answers; what libraries print goes to stderr."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


def _write(answers, message):
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    # A contestant imports this file by its name, and gets this module.
    sys.modules["contestant"] = sys.modules["__main__"]
    main(*sys.argv[1:])

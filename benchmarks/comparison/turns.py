"""Contestants take turns: one runs at a time, so noise affects all equally."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).parent.parent / "contestants" / "contestant.py"
# Threads of some libraries spin for a while after their work.
_PAUSE = 0.1
_FEWEST_ROUNDS = 3


class ContestantError(Exception):
    """A contestant ended before it answered."""


class Process:
    """A contestant in its own process; see contestant.py.

    Attributes:
        name: The name of the contestant.
        versions: The versions of the contestant's packages.
        peak_memory: The largest memory up to the last answer, in bytes.
        cpu_seconds: The CPU seconds of all threads up to the last answer.
    """

    def __init__(
        self,
        name: str,
        python: str | Path,
        file: str,
        options: Mapping[str, Any],
        *,
        environment: Mapping[str, str],
        log_file: Path,
    ):
        """Starts the contestant and waits until it is ready.

        Args:
            name: The name of the contestant.
            python: The interpreter.
            file: The contestant's file in contestants/.
            options: The options that the file's `prepare` takes.
            environment: The environment variables.
            log_file: The file for everything that the contestant prints.
        """
        self.name = name
        self._log_file = log_file
        log_file.parent.mkdir(parents=True, exist_ok=True)
        with log_file.open("w") as log:
            self._process = subprocess.Popen(
                [str(python), str(_SCRIPT), file, json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=dict(environment),
            )
        try:
            self.versions = self._read()["versions"]
        except BaseException:
            self.close()
            raise

    def run(
        self,
        case: Mapping[str, Any],
        *,
        min_seconds: float = 0.0,
        clock: str = "wall",
        wants_check: bool = False,
    ) -> dict[str, Any]:
        """Lets the contestant run a case, and returns its answer."""
        request = {
            "case": case,
            "min_seconds": min_seconds,
            "clock": clock,
            "wants_check": wants_check,
        }
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # reading the answer reports that the process has ended
        return self._read()

    def close(self):
        """Ends the process."""
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise ContestantError(
                f"{self.name} ended without an answer; {self._log_file} says "
                "why."
            )
        answer = json.loads(line)
        self.peak_memory = answer["peak_memory"]
        self.cpu_seconds = answer["cpu_seconds"]
        return answer


def take_turns(
    processes: Sequence[Process],
    case: Mapping[str, Any],
    *,
    rounds: int,
    untimed_rounds: int,
    max_seconds: float,
    min_seconds: float,
    clock: str,
    first_at_once: bool,
    report: Callable[[str], None],
) -> dict[str, dict[str, Any]]:
    """Lets every contestant run a case once in each round.

    Args:
        processes: The contestants.
        case: The case that the contestants run.
        rounds: The number of timed rounds.
        untimed_rounds: The number of rounds before the timed rounds.
        max_seconds: The time after which no new round begins, if three timed
            rounds are done.
        min_seconds: The time for which a contestant repeats its work in a
            round.
        clock: "wall", or "cpu" for the time of all threads together.
        first_at_once: Whether all contestants first run the case at the same
            time, so that they compile side by side.
        report: A function that takes a line about a contestant that failed.

    Returns:
        The figures of each contestant that did not fail, by name: `seconds`, a
        number for each timed round; the `results` of these rounds if they are
        numbers; `check`, `flops` and further figures if there are any.
    """
    taken: dict[str, dict[str, Any]] = {
        p.name: {"seconds": []} for p in processes
    }

    def take_turn(process, wants_check):
        """Returns the answer, or None if the contestant failed before."""
        if process.name not in taken:
            return None
        try:
            return process.run(
                case,
                min_seconds=min_seconds,
                clock=clock,
                wants_check=wants_check,
            )
        except ContestantError as error:
            report(str(error))
            del taken[process.name]
            return None

    if first_at_once:
        with ThreadPoolExecutor(len(processes) or 1) as pool:
            list(pool.map(lambda process: take_turn(process, False), processes))
    begin = time.perf_counter()
    for i in range(untimed_rounds + rounds):
        is_timed = i >= untimed_rounds
        if i == untimed_rounds:
            begin = time.perf_counter()
        enough = i >= untimed_rounds + _FEWEST_ROUNDS
        if enough and time.perf_counter() - begin > max_seconds:
            break
        # Each contestant goes first equally often.
        shift = i % max(1, len(processes))
        for process in [*processes[shift:], *processes[:shift]]:
            time.sleep(_PAUSE)
            answer = take_turn(process, wants_check=i == 0)
            if answer is None:
                continue
            figures = taken[process.name]
            for name in ("check", "flops"):
                if name in answer:
                    figures[name] = answer[name]
            figures.update(answer.get("figures", {}))
            if is_timed:
                figures["seconds"].append(answer["seconds"])
                if "result" in answer:
                    figures.setdefault("results", []).append(answer["result"])
    return taken

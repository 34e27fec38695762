"""The parts of a comparison: works, contestants, targets and preparations."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One way to do a work.

    Attributes:
        name: The name in the tables. Our names begin with "keras_bert".
        environment: The environment whose Python runs the contestant:
            "keras_bert" for this project, or the name of a file in
            environments/.
        file: The contestant's file in contestants/.
        options: The options of the file's `prepare`, besides `num_threads`.
        needs: The names of the preparations that the contestant needs.
    """

    name: str
    environment: str
    file: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    needs: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return self.name.startswith("keras_bert")


@dataclasses.dataclass(frozen=True)
class Target:
    """How much faster than a peer we want to be.

    Attributes:
        case: The name of the case.
        peer: The name of the peer's contestant.
        ratio: The smallest ratio of the peer's time to ours that we want. Ours
            is the time of our fastest contestant of the work.
    """

    case: str
    peer: str
    ratio: float


@dataclasses.dataclass(frozen=True)
class Work:
    """A piece of work that several contestants do.

    Attributes:
        name: The name in `--only` and in the results.
        title: The title in the tables.
        note: Other facts that a reader of the tables must know.
        cases: The cases that the contestants' `run` takes, by name.
        contestants: The contestants, in the order of the tables.
        targets: The ratios that we want to reach.
        unit: The thing whose seconds are measured, such as a call or a step.
        matrix_product: The contestant whose result is the speed of the
            largest matrix product, in FLOP/s; the tables leave it out.
        rounds: The number of timed rounds.
        untimed_rounds: The number of rounds before the timed rounds.
        max_seconds: The time of a case after which no new round begins.
        min_seconds: The time for which a contestant repeats its work in a
            round.
        clock: "wall", or "cpu" for the time of all threads together.
        needs_data: Whether the work needs the folder with real data.
        on_accelerator: Whether the contestants compute on the accelerator,
            whose memory they share. They compile at the same time, before they
            take turns. `seconds` are the seconds of one sequence.
        grows: The quantity on the horizontal axis of a curve, which grows from
            case to case; None for no curve.
    """

    name: str
    title: str
    note: str
    cases: Mapping[str, Mapping[str, Any]]
    contestants: tuple[Contestant, ...]
    targets: tuple[Target, ...] = ()
    unit: str = "call"
    matrix_product: Contestant | None = None
    rounds: int = 7
    untimed_rounds: int = 1
    max_seconds: float = 60.0
    min_seconds: float = 0.0
    clock: str = "wall"
    needs_data: bool = False
    on_accelerator: bool = False
    grows: str | None = None

    def limited(self, environments: Collection[str], is_quick: bool) -> Work:
        """Returns the work with the contestants of these environments.

        With `is_quick`, the work has two rounds.
        """
        work = dataclasses.replace(
            self,
            contestants=tuple(
                c for c in self.contestants if c.environment in environments
            ),
        )
        if is_quick:
            work = dataclasses.replace(work, rounds=2, min_seconds=0.0)
        return work


@dataclasses.dataclass(frozen=True)
class Preparation:
    """A folder of files that contestants read.

    Attributes:
        environment: The environment whose Python makes the folder.
        script: The file in preparations/. It takes the arguments and then the
            folder to make.
        arguments: The arguments of the script.
        needs: The names of the preparations that must be done before.
        is_kept: Whether a later run uses the folder again. Files from our own
            code are made anew, because the code may have changed.
    """

    environment: str
    script: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...] = ()
    is_kept: bool = True


@dataclasses.dataclass(frozen=True)
class Setup:
    """The settings that determine the works of a run.

    Attributes:
        model: The network of the works with random weights.
        files: The folder of the preparations.
        shared: The folder with real data, if there is one.
        is_quick: Whether a run only shows that everything works.
    """

    model: str
    files: Path
    shared: Path | None
    is_quick: bool = False

    @property
    def title(self) -> str:
        """The name of the model in the tables."""
        return {"bert_base_uncased": "BERT-base"}.get(self.model, self.model)

    def folder(self, preparation: str) -> str:
        """Returns the folder of a preparation."""
        return str(self.files / preparation)

    def data(self, path: str) -> str:
        """Returns a path in the folder with real data.

        Works that need data are not run if there is no such folder.
        """
        return str((self.shared or Path("shared")) / path)

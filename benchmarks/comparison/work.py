"""What a row of the comparison is made of; `works.py` has the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One way to do a work.

    Attributes:
        name: What the tables call it. Ours begin with "keras_bert".
        environment: Whose Python runs it: "keras_bert" for that of this
            project, or the name of a file in environments/.
        file: Its file in contestants/.
        options: What the file's `prepare` takes, besides `num_threads`.
        needs: The names of the preparations that must be done before.
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
        peer: The name of the contestant.
        ratio: Its time divided by ours, at least. Ours is the fastest of our
            contestants of the work.
    """

    case: str
    peer: str
    ratio: float


@dataclasses.dataclass(frozen=True)
class Work:
    """A piece of work that several contestants do.

    Attributes:
        name: What `--only` and the results call it.
        title: What the tables say that it is.
        note: What else a reader must know.
        cases: Name -> what the contestants' `run` takes.
        contestants: In the order of the tables.
        targets: What we want to reach.
        unit: What the seconds are of.
        matrix_product: The contestant whose result is the speed of the
            largest matrix product, in FLOP/s; the tables leave it out.
        rounds: The number of timed rounds.
        untimed_rounds: The number of rounds before them.
        max_seconds: The time of a case, after which no new round begins.
        min_seconds: How long a contestant repeats its work in a round.
        clock: "wall", or "cpu" for the time of all threads together.
        needs_data: Whether it needs the folder with real data.
        on_accelerator: Whether the contestants compute on the accelerator,
            whose memory they share. They compile at the same time, before they
            take turns. `seconds` are those of one sequence.
        grows: What grows from case to case; then a curve is drawn.
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

        If it is quick, it has two rounds.
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
        environment: Whose Python makes it.
        script: The file in preparations/. It takes the arguments and, after
            them, the folder that it shall make.
        arguments: Those of the script.
        needs: The names of the preparations that must be done before.
        is_kept: Whether a later run takes the same folder. Files that our own
            code makes change with it, and are made anew.
    """

    environment: str
    script: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...] = ()
    is_kept: bool = True


@dataclasses.dataclass(frozen=True)
class Setup:
    """What the rows of a run depend on.

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
        """What the tables call the model."""
        return {"bert_base_uncased": "BERT-base"}.get(self.model, self.model)

    def folder(self, preparation: str) -> str:
        """Returns the folder of a preparation."""
        return str(self.files / preparation)

    def data(self, path: str) -> str:
        """Returns a path in the folder with real data.

        Works that need data are not run if there is no such folder.
        """
        return str((self.shared or Path("shared")) / path)

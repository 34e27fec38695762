r"""Compares the speed of this package and its peers; `make bench` runs it.

    python benchmarks/compare.py --only=inference,tokenization

The script builds environments for the peers, in .bench at the top of the
checkout. A work is something to measure, such as tokenization. The contestants
of a work take turns on this machine. The script writes `results.json`,
`README.md` and pictures; new results replace old results of the same work.
Works with real data need the shared folder. `works/` has the table of all
works.
"""

import dataclasses
import os
from pathlib import Path

from absl import app, flags
from comparison.accelerator import describe_accelerator
from comparison.environments import CACHE, Environments, known_environments
from comparison.measure import measure
from comparison.pictures import draw
from comparison.prepare import PreparationError, Preparations
from comparison.results import read_results, write_result
from comparison.tables import page, work_table
from comparison.work import Setup
from works import preparations, works

_ONLY = flags.DEFINE_list(
    "only", [], "Prefixes of the names of works to run; by default, all works."
)
_QUICK = flags.DEFINE_bool(
    "quick", False, "Only check that everything runs: tiny model, few rounds."
)
_ENVIRONMENTS = flags.DEFINE_list(
    "environments",
    ["keras_bert", *known_environments()],
    "The environments whose contestants take part.",
)
_PYTHONS = flags.DEFINE_list(
    "pythons",
    [],
    "Existing interpreters by environment, such as torch=/env/bin/python.",
)
_SHARED = flags.DEFINE_string(
    "shared", os.environ.get("KERAS_BERT_SHARED"), "The folder of real data."
)
_OUTPUT_DIR = flags.DEFINE_string(
    "output_dir",
    None,
    "By default benchmarks/results, or .bench/quick with --quick.",
)


def main(_):
    model = "bert_tiny" if _QUICK.value else "bert_base_uncased"
    setup = Setup(
        model=model,
        files=CACHE / "files" / model,
        shared=Path(_SHARED.value).absolute() if _SHARED.value else None,
        is_quick=_QUICK.value,
    )
    folder = Path(__file__).parent / "results"
    if _QUICK.value:
        folder = CACHE / "quick"
    if _OUTPUT_DIR.value:
        folder = Path(_OUTPUT_DIR.value)
    table = works(setup)
    environments = Environments(
        dict(pair.split("=", 1) for pair in _PYTHONS.value)
    )
    prepared = Preparations(preparations(setup), setup, environments)
    failures: list[str] = []

    def report(failure):
        print(failure, flush=True)
        failures.append(failure)

    chosen = list(_chosen(table, setup))
    for name in {c.environment for work in chosen for c in work.contestants}:
        environments.python(name)  # builds them now, while there is internet
    for work in chosen:
        work = _prepared(work, prepared, report)
        print(f"\n{work.title}", flush=True)
        result = measure(work, environments, report)
        print(work_table(work, result), flush=True)
        write_result(folder, work.name, result)
        results = read_results(folder)
        text = page(table, results)
        (folder / "README.md").write_text(text, encoding="utf-8")
        draw(table, results, folder)
    print(f"Wrote {folder}")
    return 1 if failures else 0


def _chosen(table, setup):
    """Yields the chosen works, with only the contestants to measure."""
    for start in _ONLY.value:
        if not any(work.name.startswith(start) for work in table):
            raise app.UsageError(
                f"No work begins with {start!r}; there are "
                f"{', '.join(work.name for work in table)}."
            )
    for work in table:
        if _ONLY.value and not work.name.startswith(tuple(_ONLY.value)):
            continue
        if work.needs_data and not setup.shared:
            print(
                f"{work.name} is left out: set KERAS_BERT_SHARED to the folder "
                "with real data."
            )
            continue
        # With --quick, a work that is given by name runs on a CPU too.
        is_named = setup.is_quick and _ONLY.value
        if work.on_accelerator and not (is_named or describe_accelerator()):
            print(f"{work.name} is left out: this machine has no GPU.")
            continue
        yield work.limited(_ENVIRONMENTS.value, setup.is_quick)


def _prepared(work, preparations, report):
    """Returns the work with the contestants whose files could be made."""
    contestants = []
    for contestant in work.contestants:
        try:
            for name in contestant.needs:
                preparations.make(name)
        except PreparationError as error:
            report(f"{contestant.name} is left out: {error}")
        else:
            contestants.append(contestant)
    return dataclasses.replace(work, contestants=tuple(contestants))


if __name__ == "__main__":
    app.run(main)

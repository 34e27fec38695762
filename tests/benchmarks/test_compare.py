"""The frame of the comparison: turns, ratios, tables; and that files exist."""

import json
import os
import sys
from pathlib import Path

import pytest
from comparison import prepare
from comparison.environments import Environments, known_environments
from comparison.measure import difference
from comparison.results import (
    fastest_of_ours,
    ratio,
    reached_targets,
    read_results,
    write_result,
)
from comparison.tables import page, target_table
from comparison.turns import ContestantError, Process, take_turns
from comparison.work import Contestant, Preparation, Setup, Target, Work
from works import preparations, works

import keras_bert

_BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
# It notes when it runs, and a second contestant of it fails in a case.
_FAKE = """
import time
from contestant import Prepared
PACKAGES = ("pytest",)
def prepare(options):
    print("a library prints")
    def run(case):
        with open(options["notes"], "a") as file:
            file.write(options["name"] + str(case["size"]) + "\\n")
        if options["name"] == "b" and case["size"] == 7:
            raise RuntimeError("cannot do it")
        return 1.5 * case["size"]
    return Prepared(
        run,
        check=lambda x: [x, options["name"]],
        flops=lambda case: 11 * case["size"],
        scale=lambda case: 1000,
    )
"""
_TURNS = {
    "first_at_once": False,
    "rounds": 2,
    "untimed_rounds": 1,
    "max_seconds": 99.0,
    "min_seconds": 0.0,
    "clock": "wall",
}


@pytest.fixture
def start(tmp_path):
    (tmp_path / "fake.py").write_text(_FAKE)
    processes = []

    def start(name, file="fake.py"):
        processes.append(
            Process(
                name,
                sys.executable,
                file,
                {"name": name, "notes": str(tmp_path / "notes")},
                environment=os.environ | {"PYTHONPATH": str(tmp_path)},
                log_file=tmp_path / "logs" / name,
            )
        )
        return processes[-1]

    yield start
    for process in processes:
        process.close()


def test_contestants_take_turns(start, tmp_path):
    processes = [start("a"), start("b")]
    taken = take_turns(processes, {"size": 3}, **_TURNS, report=print)
    # Each one is the first in turn.
    notes = (tmp_path / "notes").read_text().split()
    assert notes == ["a3", "b3", "b3", "a3", "a3", "b3"]
    assert (tmp_path / "logs" / "a").read_text() == "a library prints\n"
    for name, figures in taken.items():
        assert figures["check"] == [4.5, name]
        assert figures["flops"] == 33
        assert figures["results"] == [4.5, 4.5]
        assert len(figures["seconds"]) == 2
        assert all(seconds > 0 for seconds in figures["seconds"])
    assert processes[0].versions == {"pytest": pytest.__version__}
    assert processes[0].peak_memory > 1_000_000


def test_a_contestant_repeats_a_short_work(start, tmp_path):
    answer = start("a").run({"size": 3}, min_seconds=0.02)
    notes = (tmp_path / "notes").read_text().split()
    assert answer["num_runs"] == len(notes) > 1
    # `scale` makes a thousand times as much of the seconds of one run.
    assert answer["seconds"] * answer["num_runs"] >= 1000 * 0.02


def test_a_contestant_that_fails_is_left_out(start):
    messages = []
    taken = take_turns(
        [start("a"), start("b")], {"size": 7}, **_TURNS, report=messages.append
    )
    assert list(taken) == ["a"]
    assert len(taken["a"]["seconds"]) == 2
    (message,) = messages
    assert message.startswith("b ended without an answer")
    with pytest.raises(ContestantError):
        start("c", file="absent.py")


def _work(**changes):
    contestants = [
        Contestant(name, "keras_bert", "fake.py")
        for name in ("keras_bert", "keras_bert int8", "peer")
    ]
    targets = [Target("small", "peer", 2.5), Target("large", "peer", 2.0)]
    return Work(
        name="fake",
        title="A fake work",
        note="It is done in no time.",
        cases={"small": {}, "large": {}},
        contestants=tuple(contestants),
        targets=tuple(targets),
        **changes,
    )


def _result():
    def case(*seconds):
        names = [contestant.name for contestant in _work().contestants]
        return {
            name: {"seconds": list(values), "flops": 3e9}
            for name, values in zip(names, seconds, strict=True)
        }

    return {
        "machine": {
            "processor": "a processor",
            "num_cores": 2,
            "features": ["AVX2"],
            "memory_gb": 5,
            "system": "Linux",
            "python": "3.11",
        },
        "versions": {"peer": {"peer": "1.2"}},
        "peak_memory": dict.fromkeys(
            ("keras_bert", "keras_bert int8", "peer"), 1.5e9
        ),
        "matrix_product": [4e9, 6e9, 5e9],
        "cases": {
            "small": case([1.0, 2.0, 4.0], [3.0, 3.0, 3.0], [2.0, 6.0, 16.0]),
            "large": case([5.0, 5.0, 5.0], [3.0, 4.0, 8.0], [9.0, 6.0, 12.0]),
        },
    }


def test_ratios_are_of_the_same_round():
    # 2 / 1, 6 / 2 and 16 / 4, not the ratio of the medians, which is 6 / 2.
    assert ratio([2.0, 6.0, 16.0], [1.0, 2.0, 4.0]) == 3.0
    assert ratio([2.0, 1.0, 9.0], [1.0, 4.0, 3.0]) == 2.0


def test_the_fastest_of_ours_meets_the_targets():
    work, result = _work(), _result()
    assert fastest_of_ours(work, result["cases"]["small"]) == "keras_bert"
    small, large = reached_targets(work, result)
    assert (small.ours, small.ratio) == ("keras_bert", 3.0)
    assert small.is_reached
    assert (large.ours, large.ratio) == ("keras_bert int8", 1.5)
    assert not large.is_reached


def test_tables():
    assert target_table([_work()], {"fake": _result()}) == (
        "| work | case | peer | ours | ratio | target | reached |\n"
        "|---|---|---|---|---|---|---|\n"
        "| A fake work | small | peer | keras_bert | 3.00 | 2.5 | yes |\n"
        "| A fake work | large | peer | keras_bert int8 | 1.50 | 2 | **no** |\n"
    )
    text = page([_work()], {"fake": _result(), "an old work": {}})
    assert "## A fake work\n\nIt is done in no time.\n\n| case" in text
    assert "2 cores of a processor with AVX2; 5 GB, Linux, Python 3.11" in text
    assert (
        "| small | peer | 6.00 s | 2.00 s to 16.00 s | 3.00 | 1.50 GB |" in text
    )
    # 3 GFLOP in 2 s, of the 5 GFLOP/s of the product.
    assert "| keras_bert | 30% | 12% |" in text


def test_parts_are_measured_alone(tmp_path):
    write_result(tmp_path, "fake", _result())
    write_result(tmp_path, "other", {"cases": {}})
    write_result(tmp_path, "fake", _result() | {"versions": {}})
    assert read_results(tmp_path) == {
        "fake": _result() | {"versions": {}},
        "other": {"cases": {}},
    }
    text = (tmp_path / "results.json").read_text()
    assert '"seconds": [ 1.0, 2.0, 4.0 ]' in text
    json.loads(text)


def test_differences():
    assert difference([1.0, -2.0, 4.0], [1.5, -5.0, 4.0]) == 3.0
    assert difference(["a", "b", "c"], ["a", "x", "y"]) == 2


def test_preparations(tmp_path, monkeypatch):
    monkeypatch.setattr(prepare, "_SCRIPTS", tmp_path)
    monkeypatch.setattr(prepare, "CACHE", tmp_path)
    (tmp_path / "make.py").write_text(
        "import pathlib, sys\n"
        "*words, folder = sys.argv[1:]\n"
        "pathlib.Path(folder).mkdir()\n"
        "with open(words[0], 'a') as file: file.write(words[1])\n"
        "if words[1] == 'x': raise RuntimeError\n"
    )
    notes = str(tmp_path / "notes")

    def preparation(word, *needs, **changes):
        words = (notes, word)
        return Preparation("keras_bert", "make.py", words, needs, **changes)

    table = {
        "kept": preparation("k"),
        "ours": preparation("o", "kept", is_kept=False),
        "broken": preparation("x", "kept"),
        "after": preparation("a", "broken"),
    }
    setup = Setup("bert_tiny", tmp_path / "files", None)
    for _ in range(2):  # two runs
        run = prepare.Preparations(table, setup, Environments())
        run.make("ours")
        run.make("ours")
        for name in ("after", "broken"):
            with pytest.raises(prepare.PreparationError, match="broken could"):
                run.make(name)
    assert Path(notes).read_text() == "koxox"
    made = (tmp_path / "files").iterdir()
    made = sorted(path.name for path in made if path.is_dir())
    assert made == ["broken.partial", "kept", "ours"]
    # With other arguments, a folder is made anew.
    table["kept"] = preparation("l")
    prepare.Preparations(table, setup, Environments()).make("kept")
    assert Path(notes).read_text() == "koxoxl"


@pytest.mark.parametrize("is_quick", [False, True])
def test_the_table_names_what_exists(tmp_path, is_quick):
    setup = Setup("bert_tiny", tmp_path, tmp_path / "shared", is_quick)
    made = preparations(setup)
    environments = {"keras_bert", *known_environments()}
    table = works(setup)
    assert len({work.name for work in table}) == len(table)
    for work in table:
        names = [contestant.name for contestant in work.contestants]
        assert len(set(names)) == len(names)
        for target in work.targets:
            assert target.case in work.cases
            assert target.peer in names and target.ratio > 0
        for contestant in (*work.contestants, work.matrix_product):
            if contestant is None:
                continue
            file = _BENCHMARKS / "contestants" / contestant.file
            assert file.is_file(), file
            assert contestant.environment in environments
            assert set(contestant.needs) <= set(made)
            json.dumps(contestant.options)
    for preparation in made.values():
        assert (_BENCHMARKS / "preparations" / preparation.script).is_file()
        assert preparation.environment in environments
        assert set(preparation.needs) <= set(made)
        assert all(isinstance(x, str) for x in preparation.arguments)
    assert keras_bert.BertConfig.from_name(setup.model)

"""Apache Beam makes the files of the local run, whatever its workers do."""

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keras_bert.pretraining.write import run as write_run
from keras_bert.pretraining.write import source_to_lines as write_source
from keras_bert.pretraining.write.blocks_to_parts import RecordMaker
from keras_bert.pretraining.write.lines_to_blocks import cut_blocks
from keras_bert.pretraining.write.run import (
    PretrainingDataConfig,
    create_pretraining_data,
    create_pretraining_data_with_beam,
)
from keras_bert.pretraining.write.source_to_lines import (
    TextSource,
    group_files,
)
from keras_bert.text.tokenizer import BertTokenizer

CONFIG = PretrainingDataConfig(
    max_seq_length=23, max_predictions_per_seq=4, dupe_factor=2
)
IN_PROCESS = ["--runner=FnApiRunner"]
NAMES = ["a", "b", "c"]


@pytest.fixture
def tokenizer(vocab_file):
    return BertTokenizer(vocab_file)


@pytest.fixture
def source(tmp_path, monkeypatch):
    """Eight files, in six units."""
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    monkeypatch.setattr(
        write_source,
        "group_files",
        functools.partial(group_files, unit_size=1200),
    )
    words = "the a quick brown fox over lazy dog film good bad movie".split()
    random = np.random.default_rng(1)
    (tmp_path / "text").mkdir()
    for i, num_lines in enumerate([100, 90, 130, 20, 20, 20, 200, 120]):
        (tmp_path / "text" / str(i)).write_text(
            "\n".join(
                " ".join(random.choice(words, n))
                for n in random.integers(0, 13, num_lines)
            )
        )
    source = TextSource(str(tmp_path / "text" / "*"))
    assert len(source.units()) == 6
    return source


@pytest.fixture
def small_blocks(monkeypatch):
    """A unit makes several blocks in both runs."""
    cut = functools.partial(cut_blocks, block_size=1000)
    monkeypatch.setattr(write_run, "cut_blocks", cut)


def _write_with_beam(source, folder, tokenizer, options=IN_PROCESS):
    return create_pretraining_data_with_beam(
        source,
        [folder / name for name in NAMES],
        tokenizer,
        CONFIG,
        pipeline_options=options,
    )


def _write_here(source, folder, tokenizer):
    return create_pretraining_data(
        source, [folder / name for name in NAMES], tokenizer, CONFIG
    )


def _contents(folder):
    """Returns all files but the indexes, which hold the time of a file."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if not path.name.endswith(".index.npy")
    }


def _assert_equal_to_local(source, tmp_path, tokenizer, options):
    counts = _write_with_beam(source, tmp_path / "beam", tokenizer, options)
    expected = _write_here(source, tmp_path / "local", tokenizer)
    assert counts == expected
    assert _contents(tmp_path / "beam") == _contents(tmp_path / "local")


def test_the_same_files_as_the_local_run(
    source, tmp_path, tokenizer, small_blocks
):
    _assert_equal_to_local(source, tmp_path, tokenizer, IN_PROCESS)


def _call_before(monkeypatch, call):
    """Calls a function with the arguments of each `make_part`."""
    make_part = RecordMaker.make_part

    def make(self, *args):
        call(self, *args)
        return make_part(self, *args)

    monkeypatch.setattr(RecordMaker, "make_part", make)


def test_an_interrupted_run_resumes(
    source, tmp_path, tokenizer, small_blocks, monkeypatch
):
    made = []

    def make_five(maker, block, *args):
        if len(made) == 5:
            raise OSError("no such disk")
        made.append(block.number)

    _call_before(monkeypatch, make_five)
    with pytest.raises(Exception, match="no such disk"):
        _write_with_beam(source, tmp_path / "beam", tokenizer)
    first = made.copy()
    made[:] = range(-1000, 0)
    _write_with_beam(source, tmp_path / "beam", tokenizer)
    assert len(first) == 5 and len(made) > 1005
    assert not set(first) & set(made)


def test_work_that_fails_is_repeated(
    source, tmp_path, tokenizer, small_blocks, monkeypatch
):
    """This runner repeats a bundle: its parts are there already, but one."""
    made = []

    def fail_at_the_sixth(*args):
        made.append(args)
        if len(made) == 6:
            raise OSError("no such disk")

    _call_before(monkeypatch, fail_at_the_sixth)
    options = ["--runner=BundleBasedDirectRunner"]
    _assert_equal_to_local(source, tmp_path, tokenizer, options)
    assert len(made) > 6


def test_two_workers_may_get_the_same_block(
    source, tmp_path, tokenizer, small_blocks, monkeypatch
):
    """The second begins after the first, and is done before it."""
    seconds = []
    whole_records = RecordMaker.records

    def make_twice(maker, block, counts):
        if block.number not in seconds:
            seconds.append(block.number)
            write_run._make_part(
                block,
                maker,
                write_run.open_outputs(
                    [tmp_path / "beam" / name for name in NAMES],
                    tokenizer,
                    CONFIG,
                ),
            )
        return whole_records(maker, block, counts)

    with monkeypatch.context() as patches:
        patches.setattr(RecordMaker, "records", make_twice)
        _write_with_beam(source, tmp_path / "beam", tokenizer)
    assert len(seconds) > 6
    _write_here(source, tmp_path / "local", tokenizer)
    assert _contents(tmp_path / "beam") == _contents(tmp_path / "local")


def test_wrong_input_is_explained_in_one_sentence(tmp_path, tokenizer):
    pytest.importorskip("apache_beam", reason="Apache Beam is not installed")
    (tmp_path / "empty").write_text("\n\n")
    (tmp_path / "wrong").write_text('{"text": "a dog"}\n{"text": 5}\n')
    for source, message in (
        (
            TextSource(str(tmp_path / "empty")),
            "The text holds no sentence",
        ),
        (
            TextSource(str(tmp_path / "wrong"), text_field="text"),
            "^[^\n]*wrong:2 has no text under 'text'; set text_field [^\n]*$",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            _write_with_beam(source, tmp_path, tokenizer)
    assert not [path for path in tmp_path.iterdir() if path.name in NAMES]


def test_without_beam_a_sentence_says_so(tokenizer, monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    with pytest.raises(ValueError, match="Beam is not installed; pip install"):
        create_pretraining_data_with_beam(
            TextSource("text.txt"), ["out"], tokenizer
        )


@pytest.mark.slow
def test_the_same_files_from_four_processes(source, tmp_path, tokenizer):
    options = [
        "--direct_running_mode=multi_processing",
        "--direct_num_workers=4",
    ]
    _assert_equal_to_local(source, tmp_path, tokenizer, IN_PROCESS + options)


# The first worker to make a part kills itself in the middle of it.
_DYING_WORKER = """
import os, pathlib, signal
from keras_bert.io.whole_files import write_json
from keras_bert.pretraining.write import blocks_to_parts

def die_first(path, values):
    try:
        pathlib.Path({killed!r}).touch(exist_ok=False)
    except FileExistsError:
        write_json(path, values)
    else:
        os.kill(os.getpid(), signal.SIGKILL)

blocks_to_parts.write_json = die_first
"""


@pytest.mark.slow
def test_the_same_files_from_a_cluster_that_loses_a_worker(
    source, tmp_path, tokenizer
):
    """Four processes of Dask, of which one is killed on the way."""
    distributed = pytest.importorskip(
        "distributed", reason="Dask is not installed"
    )
    folder = tmp_path / "dask"
    folder.mkdir()
    (folder / "dying.py").write_text(
        _DYING_WORKER.format(killed=str(folder / "killed"))
    )
    root = str(Path(write_run.__file__).parents[3])
    environment = os.environ | {"PYTHONPATH": root}
    scheduler_file = folder / "scheduler.json"
    arguments = ["--scheduler-file", scheduler_file, "--no-dashboard"]
    worker = ["--nthreads", "1", "--no-nanny", "--preload", "dying.py"]
    commands = [
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *arguments]
        + ["--host", "127.0.0.1", "--port", "0"]
    ] + [
        [sys.executable, "-m", "distributed.cli.dask_worker", *arguments]
        + worker
    ] * 4
    processes = [
        subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        _assert_equal_to_local(
            source,
            tmp_path,
            tokenizer,
            [
                "--runner=apache_beam.runners.dask.dask_runner.DaskRunner",
                f"--dask_scheduler_file={scheduler_file}",
                "--dask_partition_size=1",
            ],
        )
        distributed.default_client().close()
        codes = [process.poll() for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert sorted(codes, key=str) == [-signal.SIGKILL] + [None] * 4

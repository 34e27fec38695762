"""Pre-training loses no step when its processes are killed."""

import contextlib
import csv
import os
import random
import signal
import subprocess
import time

import numpy as np
import pytest
import two_workers
from safetensors.numpy import load_file
from script_runs import FLAGS, command, pretraining_flags, run

pytestmark = pytest.mark.slow


def test_a_run_killed_twenty_times_equals_an_uninterrupted_run(script_folder):
    """The run has dropout and draws masks during training."""
    records = script_folder / "dynamic.tfrecord"
    run(
        "create_pretraining_data",
        input_file=script_folder / "corpus.txt",
        output_file=records,
        vocab_file=script_folder / "vocab.txt",
        dynamic_masking=True,
        dupe_factor=1,
        **FLAGS,
    )
    whole, killed = script_folder / "whole", script_folder / "killed"
    flags = {
        "input_file": records,
        "eval_file": records,
        "num_train_steps": 200,
        "save_checkpoints_steps": 5,
    }
    run("run_pretraining", **pretraining_flags(script_folder, whole, **flags))
    moments = random.Random(3)
    num_kills = 0
    while num_kills < 20:
        saved = set(killed.glob("checkpoints/step-*"))
        process = subprocess.Popen(
            command(
                "run_pretraining",
                **pretraining_flags(script_folder, killed, **flags),
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Half of the kills come at any time after the start of Python, the
        # other half during training, soon after a checkpoint.
        if num_kills % 2:
            time.sleep(moments.uniform(0, 8))
        else:
            while saved == set(killed.glob("checkpoints/step-*")):
                assert process.poll() is None, "ended before the last kill"
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        num_kills += 1
    assert not (killed / "checkpoints" / "step-00000200").exists()
    run("run_pretraining", **pretraining_flags(script_folder, killed, **flags))
    _assert_same(killed, whole, step=200)


def _assert_same(output_dir, expected_dir, *, step):
    """Asserts bit-identical weights at the step and equal figures."""
    arrays, expected = (
        load_file(out / f"checkpoints/step-{step:08d}/model.safetensors")
        for out in (output_dir, expected_dir)
    )
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, path)
    assert _figures(output_dir) == _figures(expected_dir)


def _figures(output_dir):
    """Returns the rows of the history without times and speeds."""
    with (output_dir / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    measured = ("minutes", "per_second", "utilization_of_matmul_speed")
    return [
        {n: v for n, v in row.items() if not n.endswith(measured)}
        for row in rows
    ]


@contextlib.contextmanager
def _two_workers(**flags):
    """Starts two workers that find each other by TF_CONFIG; first the chief."""
    flags["distribution_strategy"] = "multi_worker_mirrored"
    workers = [
        subprocess.Popen(
            command("run_pretraining", **flags),
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for environment in two_workers.environments()
    ]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            worker.stderr.close()


def _finish_on_two_workers(**flags):
    """Returns the logs of the workers."""
    logged = []
    with _two_workers(**flags) as workers:
        for worker in workers:
            logged.append(worker.communicate(timeout=500)[1])
            assert worker.returncode == 0, logged[-1]
    return logged


def test_a_run_that_loses_workers_equals_an_uninterrupted_run(script_folder):
    """The run has dropout. It loses the second worker and later the chief."""
    whole, lost = (
        script_folder / "whole_of_two",
        script_folder / "lost_one_of_two",
    )
    flags = {"num_train_steps": 30, "save_checkpoints_steps": 5}
    _finish_on_two_workers(**pretraining_flags(script_folder, whole, **flags))

    flags = pretraining_flags(script_folder, lost, **flags)
    for victim, step in ((1, 10), (0, 20)):
        checkpoint = lost / "checkpoints" / f"step-{step:08d}"
        with _two_workers(**flags) as workers:
            while not checkpoint.exists():
                assert [w.poll() for w in workers] == [None, None]
                time.sleep(0.01)
            workers[victim].kill()
            survivor = workers[1 - victim]
            _, errors = survivor.communicate(timeout=300)
        assert survivor.returncode == 1, errors
        assert "Error: Another worker has ended or cannot be" in errors
    for logged in _finish_on_two_workers(**flags):
        assert "Resuming from the checkpoint of step 2" in logged
    _assert_same(lost, whole, step=30)

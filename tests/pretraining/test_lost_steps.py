"""Pre-training loses no step when its processes are killed."""

import contextlib
import csv
import os
import random
import re
import signal
import subprocess
import threading
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
    measured = ("minutes", "per_second")
    return [
        {n: v for n, v in row.items() if not n.endswith(measured)}
        for row in rows
    ]


class _Supervisor(threading.Thread):
    """Starts a worker again until it succeeds, as systemd or Kubernetes do."""

    def __init__(self, environment, log_file, **flags):
        super().__init__()
        self._environment = environment
        self._log_file = log_file
        self._flags = flags
        self.process = None
        self.is_ending = False
        self.start()

    def run(self):
        with self._log_file.open("w") as log:
            while not self.is_ending:
                self.process = subprocess.Popen(
                    command("run_pretraining", **self._flags),
                    env=self._environment,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                )
                if self.process.wait() == 0:
                    return


@contextlib.contextmanager
def _two_workers(folder, **flags):
    """Starts two workers that find each other by TF_CONFIG."""
    flags["distribution_strategy"] = "multi_worker_mirrored"
    workers = [
        _Supervisor(environment, folder / f"log_{i}.txt", **flags)
        for i, environment in enumerate(two_workers.environments())
    ]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.is_ending = True
            worker.process.kill()
            worker.join()


def test_two_workers_killed_ten_times_finish_without_a_hand(
    script_folder, tmp_path
):
    """The run has dropout. Kills come in training and in the start."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    flags = {"num_train_steps": 300, "save_checkpoints_steps": 5}
    with _two_workers(
        tmp_path, **pretraining_flags(script_folder, whole, **flags)
    ) as workers:
        for worker in workers:
            worker.join(timeout=300)
            assert not worker.is_alive()

    moments = random.Random(5)
    with _two_workers(
        tmp_path, **pretraining_flags(script_folder, killed, **flags)
    ) as workers:
        for number in range(10):
            before, end = _last_step(killed), time.monotonic()
            end += moments.uniform(0, 25)
            # Ten times 20 steps leave some, however fast a step is.
            while (
                time.monotonic() < end and _last_step(killed) < before + 20
            ) or (number % 2 and _last_step(killed) == before):
                time.sleep(0.01)
                assert workers[0].is_alive(), "ended before the last kill"
            moments.choice(workers).process.kill()
        for worker in workers:
            worker.join(timeout=600)
            assert not worker.is_alive()
    logs = [(tmp_path / f"log_{i}.txt").read_text() for i in range(2)]
    for log in logs:
        assert "Error: Another worker has ended or cannot be" in log
        assert re.search("The run resumes at step [1-9]", log)
    _assert_same(killed, whole, step=300)


def _last_step(output_dir):
    names = [x.name for x in output_dir.glob("checkpoints/step-*")]
    return max((int(x.removeprefix("step-")) for x in names), default=0)


def test_a_worker_without_the_other_ends_in_time(script_folder, tmp_path):
    for environment in two_workers.environments():
        done = subprocess.run(
            command(
                "run_pretraining",
                **pretraining_flags(script_folder, tmp_path / "out"),
                distribution_strategy="multi_worker_mirrored",
                worker_timeout_seconds=5,
            ),
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == -signal.SIGALRM
        assert "Waiting at most 5 seconds for other" in done.stderr

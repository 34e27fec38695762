"""The scripts as a user runs them: from text to answers, and with errors."""

import contextlib
import csv
import json
import os
import pickle
import random
import signal
import socket
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow

SENTENCES = ["the fox jumped over a dog .", "a film is not bad , the movie"]
FLAGS = {
    "max_seq_length": 14,
    "max_predictions_per_seq": 3,
}
TRAINING = {
    **FLAGS,
    "train_batch_size": 8,
    "num_train_steps": 300,
    "num_warmup_steps": 10,
    "save_checkpoints_steps": 20,
}


def _command(script, *args, **flags):
    return [
        sys.executable,
        str(ROOT / "run_scripts" / f"{script}.py"),
        *(f"--{name}={value}" for name, value in flags.items()),
        *args,
    ]


def _run(script, *args, **flags):
    done = subprocess.run(
        _command(script, *args, **flags), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _error(script, *args, **flags):
    """Runs what must fail; returns its sentence."""
    done = subprocess.run(
        _command(script, *args, **flags), capture_output=True, text=True
    )
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    (sentence,) = [
        line for line in done.stderr.splitlines() if line.startswith("Error: ")
    ]
    return sentence


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus, its vocabulary, records, a config and a task's files."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "corpus.txt").write_text(
        "\n".join([*SENTENCES, "", *reversed(SENTENCES), ""] * 20)
    )
    _run(
        "build_vocab",
        input_file=folder / "corpus.txt",
        output_file=folder / "vocab.txt",
        vocab_size=150,
    )
    size = len((folder / "vocab.txt").read_text().splitlines())
    (folder / "bert_config.json").write_text(
        json.dumps(
            {
                "vocab_size": size,
                "hidden_size": 12,
                "num_hidden_layers": 2,
                "num_attention_heads": 3,
                "intermediate_size": 20,
                "max_position_embeddings": 16,
            }
        )
    )
    _run(
        "create_pretraining_data",
        input_file=folder / "corpus.txt",
        output_file=folder / "train.tfrecord",
        vocab_file=folder / "vocab.txt",
        **FLAGS,
    )
    rows = [f"{text}\t{label}" for label, text in enumerate(SENTENCES)] * 20
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text(
            "\n".join(["sentence\tlabel", *rows]) + "\n"
        )
    return folder


def _pretraining(folder, output_dir, **changes):
    return {
        "input_file": folder / "train.tfrecord",
        "eval_file": folder / "train.tfrecord",
        "vocab_file": folder / "vocab.txt",
        "bert_config_file": folder / "bert_config.json",
        "output_dir": output_dir,
        **TRAINING,
        **changes,
    }


def test_from_text_to_answers(folder):
    out = _run("run_pretraining", **_pretraining(folder, folder / "pretrained"))
    assert "val_masked_lm_loss = " in out
    _run(
        "convert_checkpoint",
        input=folder / "pretrained",
        output=folder / "bert",
        to="huggingface",
    )
    out = _run(
        "run_finetuning",
        task="glue/sst2",
        data_dir=folder,
        init_checkpoint=folder / "bert",
        output_dir=folder / "finetuned",
        max_seq_length=16,
        learning_rate=0.001,
        num_train_epochs=150,
    )
    assert "accuracy = 1\n" in out
    _run(
        "export_model",
        model_dir=folder / "finetuned",
        export_dir=folder / "served",
    )
    texts = folder / "texts.txt"
    texts.write_text("\n".join(SENTENCES) + "\n")
    for answers in (
        _run("predict", *SENTENCES, model_dir=folder / "served"),
        _run("predict", model_dir=folder / "served", input_file=texts),
    ):
        answers = [json.loads(line) for line in answers.splitlines()]
        assert [a["label"] for a in answers] == ["0", "1"]
        assert [a["text"] for a in answers] == SENTENCES
    with (folder / "finetuned" / "predictions.jsonl").open() as lines:
        expected = [json.loads(next(lines)) for _ in range(2)]
    for answer, row in zip(answers, expected, strict=True):
        assert answer["scores"] == pytest.approx(row["scores"], abs=1e-5)


def test_killed_twenty_times_equals_uninterrupted(folder):
    """With dropout, and masks that are drawn while training."""
    records = folder / "dynamic.tfrecord"
    _run(
        "create_pretraining_data",
        input_file=folder / "corpus.txt",
        output_file=records,
        vocab_file=folder / "vocab.txt",
        dynamic_masking=True,
        dupe_factor=1,
        **FLAGS,
    )
    whole, killed = folder / "whole", folder / "killed"
    flags = {
        "input_file": records,
        "eval_file": records,
        "num_train_steps": 200,
        "save_checkpoints_steps": 5,
    }
    _run("run_pretraining", **_pretraining(folder, whole, **flags))
    moments = random.Random(3)
    num_kills = 0
    while num_kills < 20:
        saved = set(killed.glob("checkpoints/step-*"))
        process = subprocess.Popen(
            _command(
                "run_pretraining", **_pretraining(folder, killed, **flags)
            ),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Half of them anywhere, from the start of Python on; half of them
        # while it trains, soon after it has saved something.
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
    _run("run_pretraining", **_pretraining(folder, killed, **flags))
    arrays, expected = (
        load_file(out / "checkpoints/step-00000200/model.safetensors")
        for out in (killed, whole)
    )
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, path)
    assert _figures(killed) == _figures(whole)


def _figures(output_dir):
    """The rows of the history, without the time they took."""
    with (output_dir / "history.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    measured = ("minutes", "per_second", "utilization_of_matmul_speed")
    return [
        {n: v for n, v in row.items() if not n.endswith(measured)}
        for row in rows
    ]


@contextlib.contextmanager
def _two_workers(**flags):
    """Processes that find each other by TF_CONFIG; the first is the chief."""
    with socket.socket() as first, socket.socket() as second:
        ports = []
        for taken in (first, second):
            taken.bind(("127.0.0.1", 0))
            ports.append(taken.getsockname()[1])
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    flags["distribution_strategy"] = "multi_worker_mirrored"
    workers = []
    for i in range(2):
        task = {"type": "worker", "index": i}
        environment = {
            "TF_CONFIG": json.dumps({"cluster": cluster, "task": task}),
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        workers.append(
            subprocess.Popen(
                _command("run_pretraining", **flags),
                env=os.environ | environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
            worker.stderr.close()


def _finish_on_two_workers(**flags):
    """Returns what the workers have logged."""
    logged = []
    with _two_workers(**flags) as workers:
        for worker in workers:
            logged.append(worker.communicate(timeout=500)[1])
            assert worker.returncode == 0, logged[-1]
    return logged


def test_a_lost_worker_and_its_restart_equal_no_loss(folder):
    """With dropout. First the other worker is lost, and then the chief."""
    whole, lost = folder / "whole_of_two", folder / "lost_one_of_two"
    flags = {"num_train_steps": 30, "save_checkpoints_steps": 5}
    _finish_on_two_workers(**_pretraining(folder, whole, **flags))

    flags = _pretraining(folder, lost, **flags)
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
        assert "Going on from the checkpoint of step 2" in logged
    arrays, expected = (
        load_file(out / "checkpoints/step-00000030/model.safetensors")
        for out in (lost, whole)
    )
    for path, array in expected.items():
        np.testing.assert_array_equal(arrays[path], array, path)
    assert _figures(lost) == _figures(whole)


def test_bad_input_of_the_data_scripts(folder, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    no_mask = tmp_path / "no_mask.txt"
    no_mask.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nfox\n")
    data = {
        "input_file": folder / "corpus.txt",
        "output_file": tmp_path / "out.tfrecord",
        "vocab_file": folder / "vocab.txt",
    }
    for changes, message in (
        ({"input_file": "absent.txt"}, "No file matches 'absent.txt'"),
        ({"input_file": empty}, "The text holds no sentence"),
        ({"vocab_file": no_mask}, "has no [MASK]"),
        ({"vocab_file": "absent.txt"}, "No vocabulary at absent.txt"),
    ):
        assert message in _error("create_pretraining_data", **data | changes)
    assert "no word to learn" in _error(
        "build_vocab", input_file=empty, output_file=tmp_path / "v.txt"
    )
    assert {p.name for p in tmp_path.iterdir()} == {"empty.txt", "no_mask.txt"}


def test_bad_input_of_pretraining(folder, tmp_path):
    heads = tmp_path / "heads.json"
    config = json.loads((folder / "bert_config.json").read_text())
    heads.write_text(json.dumps(config | {"num_attention_heads": 5}))
    for changes, message in (
        ({"input_file": "absent"}, "No file matches 'absent'"),
        ({"bert_config_file": heads}, "12 is not a multiple of num_attention"),
        ({"max_seq_length": 16}, "input_ids of length 14, but the model"),
        ({"max_seq_length": 99}, "max_seq_length 99 is over"),
        ({"init_checkpoint": tmp_path}, "No checkpoint at"),
    ):
        flags = _pretraining(folder, tmp_path / "out", **changes)
        assert message in _error("run_pretraining", **flags)
    assert not list((tmp_path / "out").glob("*"))


def test_bad_checkpoints(folder, tmp_path):
    cut = tmp_path / "cut"
    harmful = tmp_path / "harmful"
    wide = tmp_path / "wide"
    for path in (cut, harmful, wide):
        path.mkdir()
        for name in ("bert_config.json", "vocab.txt"):
            (path / name).write_bytes((folder / name).read_bytes())
    save_file({"x": np.zeros(9)}, cut / "model.safetensors")
    weights = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(weights[:-1])
    with zipfile.ZipFile(harmful / "pytorch_model.bin", "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"x": os.system}))
    arrays = {"embeddings/word_embeddings": np.zeros((3, 12), "f")}
    save_file(arrays, wide / "model.safetensors")
    for path, message in (
        (cut, "is not a whole safetensors file"),
        (harmful, "names posix.system, which is no part of a table of tens"),
        (tmp_path / "absent", "No checkpoint at"),
        ("hf://a/b/c", "Cannot get hf://a/b/c"),
    ):
        output = tmp_path / "converted"
        assert message in _error(
            "convert_checkpoint", input=path, output=output, to="keras"
        )
        assert not output.exists()
    assert "has no weight embeddings/layer_norm/beta" in _error(
        "run_finetuning",
        task="glue/sst2",
        data_dir=folder,
        init_checkpoint=wide,
        output_dir=tmp_path / "out",
        max_seq_length=16,
    )


def test_bad_input_of_finetuning_and_serving(folder, tmp_path):
    (tmp_path / "train.tsv").write_text("sentence\tlabel\na film\tgood\n")
    (tmp_path / "dev.tsv").write_text("sentence\tlabel\na film\t1\n")
    flags = {
        "task": "glue/sst2",
        "data_dir": tmp_path,
        "bert_config_file": folder / "bert_config.json",
        "vocab_file": folder / "vocab.txt",
        "output_dir": tmp_path / "out",
        "max_seq_length": 16,
    }
    for changes, message in (
        ({"task": "glue/sst3"}, "No task named 'glue/sst3'; known are codah, "),
        ({"learning_rate": "1e-4,high"}, "--learning_rate has 'high' in it"),
        ({"features": "last"}, "features is 'last', but a classification"),
        ({"data_source": "tfds"}, "holds no prepared glue/sst2"),
        ({}, "Label 'good' of example 1 is not one of 0, 1"),
        ({"data_dir": "absent"}, "No train file at absent/train.tsv"),
        ({"init_checkpoint": "absent"}, "No checkpoint at absent"),
    ):
        assert message in _error("run_finetuning", **flags | changes)
    assert not (tmp_path / "out").exists()
    assert "No checkpoint at absent" in _error(
        "export_model", model_dir="absent", export_dir=tmp_path / "served"
    )
    texts = tmp_path / "texts.txt"
    texts.write_text("a film\n")
    output = tmp_path / "features.jsonl"
    assert "No checkpoint at absent" in _error(
        "extract_features",
        input_file=texts,
        output_file=output,
        init_checkpoint="absent",
    )
    assert not output.exists()
    assert "No SavedModel at absent" in _error(
        "predict", "a text", model_dir="absent"
    )

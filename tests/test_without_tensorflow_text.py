"""Without tensorflow-text, all but learning a vocabulary is as with it."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
import tensorflow_text as tf_text
import without_tensorflow_text as process
from small_checkpoint import write_checkpoint

HERE = Path(__file__).parent


@pytest.fixture
def folder(config, tmp_path):
    config = dataclasses.replace(config, hidden_dropout_prob=0.2)
    write_checkpoint(tmp_path / "pretrained", config)
    return tmp_path


def _run_checks(part, folder, expected):
    """Runs the checks of a part in a new process; returns their number."""
    (folder / "expected.json").write_text(json.dumps(expected))
    shared = os.environ.get("KERAS_BERT_SHARED")
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [
            sys.executable,
            HERE / "without_tensorflow_text.py",
            part,
            folder,
            *([shared] if shared else []),
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return len(done.stdout.split())


@pytest.mark.slow
def test_tokens_vectors_and_records(folder):
    expected = {
        "offsets": process.offsets(folder),
        "embed": process.embed(folder),
    }
    module = tf.Module()
    module.f = tf.function(
        lambda x: tf_text.normalize_utf8(x, "NFD"),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(folder / "exported"))
    for dynamic_masking in (False, True):
        process.write_records(
            folder,
            folder / f"records-{dynamic_masking}",
            dynamic_masking=dynamic_masking,
        )
    assert _run_checks("data", folder, expected) == 5


@pytest.mark.slow
def test_training(folder):
    expected = {
        kind: process.finetune(kind, folder, folder / kind)
        for kind in process.TASKS
    }
    assert _run_checks("training", folder, expected) == 2

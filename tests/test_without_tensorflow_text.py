"""Without tensorflow-text, all but strings in a SavedModel is as with it."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import tensorflow as tf
import tensorflow_text as tf_text
import without_tensorflow_text as process
from small_checkpoint import write_checkpoint

HERE = Path(__file__).parent


def test_in_a_new_process(config, tmp_path):
    config = dataclasses.replace(config, hidden_dropout_prob=0.2)
    write_checkpoint(tmp_path / "pretrained", config)
    expected = {
        "offsets": process.offsets(tmp_path),
        "embed": process.embed(tmp_path),
    }
    for kind in process.TASKS:
        expected[kind] = process.finetune(kind, tmp_path, tmp_path / kind)
    (tmp_path / "expected.json").write_text(json.dumps(expected))
    module = tf.Module()
    module.f = tf.function(
        lambda x: tf_text.normalize_utf8(x, "NFD"),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path / "exported"))
    for dynamic_masking in (False, True):
        process.write_records(
            tmp_path,
            tmp_path / f"records-{dynamic_masking}",
            dynamic_masking=dynamic_masking,
        )
    shared = os.environ.get("KERAS_BERT_SHARED")
    paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [
            sys.executable,
            HERE / "without_tensorflow_text.py",
            tmp_path,
            *([shared] if shared else []),
        ],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert len(done.stdout.split()) == 5

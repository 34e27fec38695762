"""google-research/bert's create_pretraining_data.py."""

import sys
import tempfile
from pathlib import Path

import tensorflow.compat.v1 as tf
from contestant import Prepared

PACKAGES = ("bert-tensorflow", "tensorflow")
# It was written for TensorFlow 1.
sys.modules["tensorflow"] = tf

from bert import create_pretraining_data  # noqa: E402


def prepare(options):
    tf.logging.set_verbosity(tf.logging.ERROR)
    flags = tf.flags.FLAGS
    flags(
        [
            "create_pretraining_data.py",
            f"--input_file={options['text']}",
            f"--vocab_file={options['vocab_file']}",
            "--output_file=",
        ]
    )

    def run(case):
        with tempfile.TemporaryDirectory() as folder:
            flags.output_file = str(Path(folder, "records.tfrecord"))
            flags.dupe_factor = case["dupe_factor"]
            create_pretraining_data.main(None)
            return _count(flags.output_file)

    return Prepared(run, check=lambda instances: [instances])


def _count(file):
    return sum(1 for _ in tf.python_io.tf_record_iterator(file))

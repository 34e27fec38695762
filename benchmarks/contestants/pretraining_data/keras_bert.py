"""`create_pretraining_data` in one process."""

import tempfile
from pathlib import Path

import tensorflow  # noqa: F401  (not part of the work)
import tensorflow_text  # noqa: F401
from contestant import Prepared

import keras_bert

PACKAGES = ("keras-bert-tf", "tensorflow", "tensorflow-text")


def prepare(options):
    tokenizer = keras_bert.BertTokenizer(options["vocab_file"])

    def run(case):
        with tempfile.TemporaryDirectory() as folder:
            counts = keras_bert.create_pretraining_data(
                keras_bert.pretraining.TextSource(options["text"]).lines(),
                [str(Path(folder, "records.tfrecord"))],
                tokenizer,
                keras_bert.PretrainingDataConfig(
                    dupe_factor=case["dupe_factor"]
                ),
            )
        return counts["instances"]

    return Prepared(run, check=lambda instances: [instances])

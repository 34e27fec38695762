"""A network in an .onnx file, in ONNX Runtime."""

import onnxruntime
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("onnxruntime",)
# The file's inputs may have the names that transformers uses.
_NAMES = {"attention_mask": "input_mask", "token_type_ids": "segment_ids"}


def prepare(options):
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options["num_threads"]
    session = onnxruntime.InferenceSession(
        options["file"], settings, providers=["CPUExecutionProvider"]
    )

    def run(case):
        features = random_features(**case, vocab_size=options["vocab_size"])
        feed = {
            x.name: features[_NAMES.get(x.name, x.name)].astype(
                "int32" if "int32" in x.type else "int64"
            )
            for x in session.get_inputs()
        }
        return session.run(["sequence_output"], feed)[0]

    return Prepared(run, check=lambda hidden: hidden[0, 0, :8].tolist())

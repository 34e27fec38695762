"""A network in an .xml or .onnx file, in OpenVINO."""

import openvino
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("openvino",)
# Its inputs may have the names of transformers.
_NAMES = {"attention_mask": "input_mask", "token_type_ids": "segment_ids"}
_HINTS = {"float32": "f32", "bfloat16": "bf16"}


def prepare(options):
    compiled = openvino.compile_model(
        options["file"],
        "CPU",
        {
            "INFERENCE_PRECISION_HINT": _HINTS[options["precision"]],
            "INFERENCE_NUM_THREADS": options["num_threads"],
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    request = compiled.create_infer_request()

    def run(case):
        features = random_features(**case, vocab_size=options["vocab_size"])
        feed = {
            x.any_name: features[_NAMES.get(x.any_name, x.any_name)].astype(
                x.element_type.to_dtype()
            )
            for x in compiled.inputs
        }
        return request.infer(feed, share_inputs=True)["sequence_output"]

    return Prepared(run, check=lambda hidden: hidden[0, 0, :8].tolist())

"""A network in an .xml or .onnx file, in OpenVINO.

For int8, an .xml file already has int8 weights. NNCF computes the int8 weights
of an .onnx file, with ranges from random ids.
"""

import nncf
import openvino
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("openvino", "nncf")
# The file's inputs may have the names that transformers uses.
_NAMES = {"attention_mask": "input_mask", "token_type_ids": "segment_ids"}
_HINTS = {"float32": "f32", "bfloat16": "bf16", "int8": "f32"}


def prepare(options):
    network = openvino.Core().read_model(options["file"])

    def feed_of(case):
        features = random_features(**case, vocab_size=options["vocab_size"])
        return {
            x.any_name: features[_NAMES.get(x.any_name, x.any_name)].astype(
                x.element_type.to_dtype()
            )
            for x in network.inputs
        }

    if options["precision"] == "int8" and options["file"].endswith(".onnx"):
        batches = [
            feed_of({"batch_size": 8, "seq_length": n}) for n in (32, 128)
        ]
        network = nncf.quantize(
            network,
            nncf.Dataset(batches),
            model_type=nncf.ModelType.TRANSFORMER,
            subset_size=len(batches),
        )
    compiled = openvino.compile_model(
        network,
        "CPU",
        {
            "INFERENCE_PRECISION_HINT": _HINTS[options["precision"]],
            "INFERENCE_NUM_THREADS": options["num_threads"],
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    request = compiled.create_infer_request()

    def run(case):
        found = request.infer(feed_of(case), share_inputs=True)
        return found["sequence_output"]

    return Prepared(run, check=lambda hidden: hidden[0, 0, :8].tolist())

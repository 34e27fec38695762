"""The hidden states of a batch without padding, from the same weights."""

import dataclasses

from comparison.work import Contestant, Preparation, Target, Work

_CASES = {
    "8 x 128": {"batch_size": 8, "seq_length": 128},
    "1 x 128": {"batch_size": 1, "seq_length": 128},
    "1 x 32": {"batch_size": 1, "seq_length": 32},
}
_VOCAB_SIZE = 30_522
# Case -> peer -> the ratio that we want to reach in float32.
_RATIOS = {
    "8 x 128": {"transformers": 1.15, "keras-hub": 1.2, "ONNX Runtime": 1.0},
    "1 x 128": {"transformers": 1.6, "keras-hub": 1.6, "ONNX Runtime": 1.0},
    "1 x 32": {"transformers": 1.6, "keras-hub": 1.6, "ONNX Runtime": 1.0},
}
_INT8_RATIOS = {"ONNX Runtime": 1.2, "OpenVINO": 1.0}


def works(setup):
    return [_float32(setup), _bfloat16(setup), _int8(setup)]


def preparations(setup):
    checkpoint = setup.folder("checkpoint")
    return {
        "checkpoint": Preparation(
            "keras_bert", "random_checkpoint.py", (setup.model,)
        ),
        "exported": Preparation(
            "keras_bert",
            "exported_network.py",
            (checkpoint,),
            needs=("checkpoint",),
            is_kept=False,
        ),
        "onnx": Preparation(
            "torch",
            "onnx_of_transformers.py",
            (checkpoint,),
            needs=("checkpoint",),
        ),
    }


def matrix_product(precision):
    """Returns the contestant that measures the largest matrix product."""
    return Contestant(
        "matrix product",
        "keras_bert",
        "matrix_product.py",
        {"precision": precision},
    )


def with_compiled(contestant, setup):
    """Returns a contestant, and the same network compiled by torch.compile.

    A quick run leaves out the second contestant, which compiles for minutes.
    """
    compiled = dataclasses.replace(
        contestant,
        name=f"{contestant.name}, compiled",
        options={**contestant.options, "compiled": True},
    )
    return [contestant] if setup.is_quick else [contestant, compiled]


def _float32(setup):
    return Work(
        name="inference_float32",
        title=f"Inference, {setup.title}, float32",
        note="ONNX Runtime and OpenVINO run the transformers model; "
        "keras_bert ONNX and keras_bert OpenVINO are our exports in the same "
        "engines.",
        cases=_CASES,
        contestants=(
            *_our_formats(setup, "float32"),
            *with_compiled(_transformers(setup, "float32"), setup),
            _keras_hub(setup, "float32"),
            _onnx_runtime("ONNX Runtime", "onnx", setup, "float32"),
            _openvino(setup, "float32"),
        ),
        targets=tuple(
            Target(case, peer, ratio)
            for case, ratios in _RATIOS.items()
            for peer, ratio in ratios.items()
        ),
        matrix_product=matrix_product("float32"),
        min_seconds=0.3,
    )


def _bfloat16(setup):
    return Work(
        name="inference_bfloat16",
        title=f"Inference, {setup.title}, bfloat16",
        note="keras-hub keeps the weights in float32.",
        cases=_CASES,
        contestants=(
            *_our_formats(setup, "bfloat16"),
            *with_compiled(_transformers(setup, "bfloat16"), setup),
            _keras_hub(setup, "bfloat16"),
            _openvino(setup, "bfloat16"),
        ),
        targets=tuple(Target(case, "OpenVINO", 1.0) for case in _CASES),
        matrix_product=matrix_product("bfloat16"),
        min_seconds=0.3,
    )


def _int8(setup):
    return Work(
        name="inference_int8",
        title=f"Inference, {setup.title}, int8",
        note="Weights and activations are in int8. The activations are "
        "scaled by their range in each call, by their range in each token "
        "(keras_bert LiteRT and ONNX) or, in OpenVINO, by ranges that NNCF "
        "computed in advance.",
        cases=_CASES,
        contestants=(
            *_our_formats(setup, "int8"),
            _onnx_runtime("ONNX Runtime", "onnx", setup, "int8"),
            _openvino(setup, "int8"),
        ),
        targets=tuple(
            Target(case, peer, ratio)
            for case in _CASES
            for peer, ratio in _INT8_RATIOS.items()
        ),
        min_seconds=0.3,
    )


def _our_formats(setup, precision):
    """Returns our contestants, in the formats of exported_network.py.

    Their names begin with "keras_bert". The fastest format counts for the
    targets.
    """
    folder = setup.folder("exported")
    saved_model = Contestant(
        "keras_bert SavedModel",
        "keras_bert",
        "inference/keras_bert.py",
        {"saved_model": f"{folder}/{precision}"},
        ("exported",),
    )
    litert = Contestant(
        "keras_bert LiteRT",
        "keras_bert",
        "inference/litert.py",
        {"file": f"{folder}/{precision}.tflite", "vocab_size": _VOCAB_SIZE},
        ("exported",),
    )
    onnx = _onnx_runtime("keras_bert ONNX", "exported", setup, precision)
    openvino = Contestant(
        "keras_bert OpenVINO",
        "keras_bert",
        "inference/openvino.py",
        {
            "file": f"{folder}/{precision}.xml",
            "precision": precision,
            "vocab_size": _VOCAB_SIZE,
        },
        ("exported",),
    )
    return {
        "float32": (saved_model, litert, onnx, openvino),
        "bfloat16": (saved_model, openvino),
        "int8": (litert, onnx, openvino),
    }[precision]


def _openvino(setup, precision):
    return Contestant(
        "OpenVINO",
        "keras_bert",
        "inference/openvino.py",
        {
            "file": f"{setup.folder('onnx')}/plain.onnx",
            "precision": precision,
            "vocab_size": _VOCAB_SIZE,
        },
        ("onnx",),
    )


def _transformers(setup, precision):
    return Contestant(
        "transformers",
        "torch",
        "inference/transformers.py",
        {"model": setup.folder("checkpoint"), "precision": precision},
        needs=("checkpoint",),
    )


def _keras_hub(setup, precision):
    return Contestant(
        "keras-hub",
        "tensorflow",
        "inference/keras_hub.py",
        {"model": setup.folder("checkpoint"), "precision": precision},
        needs=("checkpoint",),
    )


def _onnx_runtime(name, preparation, setup, precision):
    return Contestant(
        name,
        "torch",
        "inference/onnxruntime.py",
        {
            "file": f"{setup.folder(preparation)}/{precision}.onnx",
            "vocab_size": _VOCAB_SIZE,
        },
        (preparation,),
    )

"""The table of everything that is compared.

To add a peer, write a file for it in contestants/, in the folder of the work,
and name it here. To add a work, add a folder there and an entry here. What a
contestant reads from disk is made by a preparation.
"""

from __future__ import annotations

from pathlib import Path

from comparison.work import Contestant, Preparation, Setup, Target, Work

_CONFIGS = Path(__file__).parent.parent / "configs" / "models"
_SHAPES = {
    "8 x 128": {"batch_size": 8, "seq_length": 128},
    "1 x 128": {"batch_size": 1, "seq_length": 128},
    "1 x 32": {"batch_size": 1, "seq_length": 32},
}
_VOCAB_SIZE = 30_522


def preparations(setup: Setup) -> dict[str, Preparation]:
    """Returns the folders of files that contestants need, by name."""
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


def works(setup: Setup) -> tuple[Work, ...]:
    """Returns all works, in the order of the tables."""
    return (
        *(_pretraining_step(setup, x) for x in ("float32", "bfloat16")),
        _inference_float32(setup),
        _inference_bfloat16(setup),
        _inference_int8(setup),
    )


def _pretraining_step(setup, precision):
    options = {
        "model": setup.model,
        "config_file": str(_CONFIGS / f"{setup.model}.json"),
        "precision": precision,
    }
    case = "8 x 128, 20 predictions"
    ratios = {"float32": (1.6, 1.4), "bfloat16": (1.5, 1.2)}[precision]
    return Work(
        f"pretraining_step_{precision}",
        f"A step of pre-training, {_title(setup)}, {precision}",
        {case: {"batch_size": 8, "seq_length": 128, "num_predictions": 20}},
        (
            Contestant(
                "keras_bert",
                "keras_bert",
                "pretraining_step/keras_bert.py",
                options,
            ),
            Contestant(
                "transformers",
                "torch",
                "pretraining_step/transformers.py",
                options,
            ),
            Contestant(
                "keras-hub, no next sentence",
                "tensorflow",
                "pretraining_step/keras_hub.py",
                options | {"jit_compile": False},
            ),
        ),
        (
            Target(case, "transformers", ratios[0]),
            Target(case, "keras-hub, no next sentence", ratios[1]),
        ),
        unit="step",
        matrix_product=_matrix_product(precision),
        rounds=5,
        max_seconds=75,
    )


def _inference_float32(setup):
    ratios = {
        "8 x 128": (1.15, 1.2, 1.0),
        "1 x 128": (1.6, 1.6, 1.0),
        "1 x 32": (1.6, 1.6, 1.0),
    }
    peers = ("transformers", "keras-hub", "ONNX Runtime")
    return Work(
        "inference_float32",
        f"Inference, {_title(setup)}, float32",
        _SHAPES,
        (
            *_our_networks(setup, "float32"),
            _transformers_network(setup, "float32"),
            _keras_hub_network(setup, "float32"),
            _onnx_network(
                "ONNX Runtime",
                f"{setup.folder('onnx')}/float32.onnx",
                needs=("onnx",),
            ),
        ),
        tuple(
            Target(case, peer, ratio)
            for case in _SHAPES
            for peer, ratio in zip(peers, ratios[case], strict=True)
        ),
        matrix_product=_matrix_product("float32"),
        min_seconds=0.3,
    )


def _inference_bfloat16(setup):
    return Work(
        "inference_bfloat16",
        f"Inference, {_title(setup)}, bfloat16",
        _SHAPES,
        (
            *_our_networks(setup, "bfloat16"),
            _transformers_network(setup, "bfloat16"),
            _keras_hub_network(setup, "bfloat16"),
        ),
        matrix_product=_matrix_product("bfloat16"),
        min_seconds=0.3,
    )


def _inference_int8(setup):
    return Work(
        "inference_int8",
        f"Inference, {_title(setup)}, int8",
        _SHAPES,
        (
            *_our_networks(setup, "int8"),
            _onnx_network(
                "ONNX Runtime int8",
                f"{setup.folder('onnx')}/int8.onnx",
                needs=("onnx",),
            ),
        ),
        tuple(Target(case, "ONNX Runtime int8", 1.1) for case in _SHAPES),
        min_seconds=0.3,
    )


def _our_networks(setup, precision):
    """Ours in the formats of `preparations/exported_network.py`."""
    if precision == "int8":
        return ()
    return (
        Contestant(
            "keras_bert SavedModel",
            "keras_bert",
            "inference/keras_bert.py",
            {"saved_model": f"{setup.folder('exported')}/{precision}"},
            needs=("exported",),
        ),
    )


def _transformers_network(setup, precision):
    return Contestant(
        "transformers",
        "torch",
        "inference/transformers.py",
        {"model": setup.folder("checkpoint"), "precision": precision},
        needs=("checkpoint",),
    )


def _keras_hub_network(setup, precision):
    return Contestant(
        "keras-hub",
        "tensorflow",
        "inference/keras_hub.py",
        {
            "model": setup.folder("checkpoint"),
            "precision": precision,
            "jit_compile": False,
        },
        needs=("checkpoint",),
    )


def _onnx_network(name, file, needs):
    return Contestant(
        name,
        "torch",
        "inference/onnxruntime.py",
        {"file": file, "vocab_size": _VOCAB_SIZE},
        needs=needs,
    )


def _title(setup):
    return {"bert_base_uncased": "BERT-base"}.get(setup.model, setup.model)


def _matrix_product(precision):
    return Contestant(
        "matrix product",
        "keras_bert",
        "matrix_product.py",
        {"precision": precision},
    )

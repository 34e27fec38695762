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
# In the shared folder.
_MINILM = "data/checkpoints/all-MiniLM-L6-v2"
_VOCABULARIES = "data/vocab"
_TASK_FOLDERS = {"glue/mrpc": "data/glue/MRPC", "glue/sst2": "data/glue/SST-2"}


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
        **(_preparations_with_data(setup) if setup.shared else {}),
    }


def _preparations_with_data(setup):
    def rows(task):
        return Preparation(
            "keras_bert",
            "task_rows.py",
            (task, str(setup.shared / _TASK_FOLDERS[task])),
        )

    novels = setup.shared / "data/pretrain/novels.en.txt.gz"
    megabytes = "0.2" if setup.is_quick else "4"
    return {
        "mrpc": rows("glue/mrpc"),
        "sst2": rows("glue/sst2"),
        "classifier": Preparation(
            "keras_bert",
            "classifier.py",
            ("glue/sst2", str(setup.shared / _MINILM)),
        ),
        "served_classifier": Preparation(
            "keras_bert",
            "served_classifier.py",
            (f"{setup.folder('classifier')}/keras_bert",),
            needs=("classifier",),
            is_kept=False,
        ),
        "lines": Preparation(
            "keras_bert", "text_lines.py", (str(setup.shared),)
        ),
        "text": Preparation(
            "keras_bert", "start_of_text.py", (str(novels), megabytes)
        ),
    }


def works(setup: Setup) -> tuple[Work, ...]:
    """Returns all works, in the order of the tables."""
    return (
        *(_pretraining_step(setup, x) for x in ("float32", "bfloat16")),
        _inference_float32(setup),
        _inference_bfloat16(setup),
        _inference_int8(setup),
        *(_works_with_data(setup) if setup.shared else ()),
        *_growth(setup),
    )


def _works_with_data(setup):
    return (
        _finetuning(setup, "glue/mrpc", "MRPC"),
        _finetuning(setup, "glue/sst2", "SST-2"),
        _classification(setup),
        _tokenization(setup),
        _pretraining_data(setup),
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


def _finetuning(setup, task, title):
    name = task.removeprefix("glue/")
    case = "an epoch"
    checkpoint = str(setup.shared / _MINILM)
    # A sample: a whole epoch takes minutes.
    num_batches = 2 if setup.is_quick else 10

    def peer(padding, text):
        return Contestant(
            f"transformers, {text}",
            "torch",
            "finetuning/transformers.py",
            {
                "checkpoint": checkpoint,
                "rows": f"{setup.folder(name)}/train.jsonl",
                "num_batches": num_batches,
                "padding": padding,
            },
            needs=(name,),
        )

    peers = (
        peer("max_length", "padded to 128"),
        peer("longest", "padded to the longest"),
    )
    return Work(
        f"finetuning_{name}",
        f"Fine-tuning MiniLM on {title}, batches of 32, float32, from a "
        f"sample of {num_batches} steps",
        {case: {}},
        (
            Contestant(
                "keras_bert",
                "keras_bert",
                "finetuning/keras_bert.py",
                {
                    "task": task,
                    "data_dir": str(setup.shared / _TASK_FOLDERS[task]),
                    "checkpoint": checkpoint,
                    "num_batches": num_batches,
                },
            ),
            *peers,
        ),
        (Target(case, peers[0].name, 3.0), Target(case, peers[1].name, 1.5)),
        unit="epoch",
        rounds=5,
    )


def _classification(setup):
    case = "batches of 32"
    options = {
        "model": f"{setup.folder('classifier')}/huggingface",
        "rows": f"{setup.folder('sst2')}/validation.jsonl",
    }
    return Work(
        "classification",
        "Raw strings to labels, the 872 sentences of SST-2's dev set, MiniLM, "
        "float32",
        {case: {"batch_size": 32}},
        (
            Contestant(
                "keras_bert",
                "keras_bert",
                "classification/keras_bert.py",
                {
                    "model_dir": setup.folder("served_classifier"),
                    "rows": options["rows"],
                },
                needs=("served_classifier", "sst2"),
            ),
            Contestant(
                "transformers pipeline",
                "torch",
                "classification/transformers.py",
                options,
                needs=("classifier", "sst2"),
            ),
            Contestant(
                "keras-hub",
                "tensorflow",
                "classification/keras_hub.py",
                options,
                needs=("classifier", "sst2"),
            ),
        ),
        (
            Target(case, "transformers pipeline", 2.0),
            Target(case, "keras-hub", 1.5),
        ),
        unit="pass",
        rounds=5,
    )


def _tokenization(setup):
    cases = {
        "novels, uncased": {"lines": "novels", "vocab": "uncased"},
        "Korean, cased": {"lines": "korean", "vocab": "multilingual-cased"},
        "Korean, uncased": {"lines": "korean", "vocab": "uncased"},
        "mixed, cased": {"lines": "mixed", "vocab": "multilingual-cased"},
        "mixed, uncased": {"lines": "mixed", "vocab": "uncased"},
    }
    options = {
        "lines": setup.folder("lines"),
        "vocabularies": str(setup.shared / _VOCABULARIES),
    }

    def ours(name, pipeline):
        return Contestant(
            name,
            "keras_bert",
            "tokenization/keras_bert.py",
            options | {"pipeline": pipeline},
            needs=("lines",),
        )

    return Work(
        "tokenization",
        "Tokenizing 20,000 sentences (mixed: 4,000 paragraphs)",
        cases,
        (
            ours("keras_bert, one call, one thread", pipeline=False),
            ours("keras_bert, tf.data", pipeline=True),
            Contestant(
                "tokenizers (Rust)",
                "torch",
                "tokenization/tokenizers.py",
                options,
                needs=("lines",),
            ),
        ),
        (Target("novels, uncased", "tokenizers (Rust)", 3.0),),
        unit="pass",
        max_seconds=15,
        min_seconds=0.3,
    )


def _pretraining_data(setup):
    case = "dupe factor 10"
    options = {
        "text": f"{setup.folder('text')}/text.txt",
        "vocab_file": str(
            setup.shared / _VOCABULARIES / "bert-base-uncased.vocab.txt"
        ),
    }
    return Work(
        "pretraining_data",
        "Pre-training data from 4 MB of novels, seconds of one core",
        {case: {"dupe_factor": 10}},
        (
            Contestant(
                "keras_bert",
                "keras_bert",
                "pretraining_data/keras_bert.py",
                options,
                needs=("text",),
            ),
            Contestant(
                "google-research/bert",
                "tensorflow",
                "pretraining_data/google_bert.py",
                options,
                needs=("text",),
            ),
        ),
        (Target(case, "google-research/bert", 14.0),),
        unit="pass",
        rounds=3,
        untimed_rounds=0,
        clock="cpu",
    )


def _growth(setup):
    lengths = (32, 64) if setup.is_quick else (32, 64, 128, 256, 512)
    batches = (1, 2) if setup.is_quick else (1, 2, 4, 8, 16, 32, 64)
    sizes = ("tiny", "mini", "small", "medium", "base", "large")
    sizes = sizes[:2] if setup.is_quick else sizes
    start = {"model": setup.model, "batch_size": 8, "seq_length": 128}
    released = {"base": "base_uncased", "large": "large_uncased"}
    title = _title(setup)
    cases = {
        "length": (
            f"the length, {title}, batches of 8",
            {str(n): start | {"seq_length": n} for n in lengths},
        ),
        "batch": (
            f"the batch, {title}, 128 tokens",
            {str(n): start | {"batch_size": n} for n in batches},
        ),
        "size": (
            "the network, 8 x 128",
            {x: start | {"model": f"bert_{released.get(x, x)}"} for x in sizes},
        ),
    }
    options = {"configs": str(_CONFIGS), "vocab_size": _VOCAB_SIZE}
    for name, (text, values) in cases.items():
        yield Work(
            f"growth_{name}",
            f"Inference against {text}, float32",
            values,
            (
                Contestant(
                    "keras_bert", "keras_bert", "growth/keras_bert.py", options
                ),
                Contestant(
                    "transformers", "torch", "growth/transformers.py", options
                ),
            ),
            rounds=3,
            max_seconds=10,
            min_seconds=0.1,
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

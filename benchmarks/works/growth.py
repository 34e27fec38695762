"""The growth of the time of inference with the length, batch and network."""

from comparison.environments import ROOT
from comparison.work import Contestant, Work

_LENGTHS = (32, 64, 128, 256, 512)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
_MODELS = {
    "tiny": "bert_tiny",
    "mini": "bert_mini",
    "small": "bert_small",
    "medium": "bert_medium",
    "base": "bert_base_uncased",
    "large": "bert_large_uncased",
}


def works(setup):
    start = {"model": setup.model, "batch_size": 8, "seq_length": 128}
    return [
        _work(
            "length",
            f"{setup.title}, batches of 8",
            "tokens of a sequence",
            {
                str(x): start | {"seq_length": x}
                for x in (_LENGTHS[:2] if setup.is_quick else _LENGTHS)
            },
        ),
        _work(
            "batch",
            f"{setup.title}, 128 tokens",
            "sequences of a batch",
            {
                str(x): start | {"batch_size": x}
                for x in (_BATCH_SIZES[:2] if setup.is_quick else _BATCH_SIZES)
            },
        ),
        _work(
            "size",
            "batches of 8, 128 tokens",
            "network",
            {
                name: start | {"model": model}
                for name, model in list(_MODELS.items())[
                    : 2 if setup.is_quick else None
                ]
            },
        ),
    ]


def _work(name, what, grows, cases):
    options = {
        "configs": str(ROOT / "configs" / "models"),
        "vocab_size": 30_522,
    }
    return Work(
        name=f"growth_{name}",
        title=f"Growth with the {name}: {what}",
        note="Inference in float32, with random weights.",
        cases=cases,
        contestants=(
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
        grows=grows,
    )

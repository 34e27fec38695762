"""Training and inference on an accelerator, in bfloat16.

Our network runs on Keras' JAX backend; XLA compiles it as it does for
TensorFlow. `accelerator.md` says how to measure.
"""

import json
import math

from comparison.environments import ROOT
from comparison.work import Contestant, Target, Work

_PEER = "transformers"
# The config has the keys that transformers writes.
_MINILM = {
    "vocab_size": 30_522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "hidden_act": "gelu",
    "model_type": "bert",
}
# (Network, length) -> the batch size of pre-training. At this size, two of our
# contestants and the peer fit into 139 GiB at the same time.
_PRETRAINING = {
    ("bert_large_uncased", 128): 128,
    ("bert_base_uncased", 128): 256,
    ("bert_large_uncased", 512): 16,
    ("bert_base_uncased", 512): 32,
}
# Length -> batch size of inference.
_INFERENCE = {128: 256, 512: 64}
_CLASSIFIER_BATCHES = (1, 32, 256)
_NO_DROPOUT = "no attention dropout"
_TRAINING_VARIANTS = {
    "keras_bert": [],
    "keras_bert, rbg": ["rbg"],
    "keras_bert, no donation": ["no donation"],
    f"keras_bert, {_NO_DROPOUT}": [_NO_DROPOUT],
    "keras_bert, fused attention": [_NO_DROPOUT, "fused attention"],
    "keras_bert, sequence lengths": [_NO_DROPOUT, "sequence lengths"],
}
_INFERENCE_VARIANTS = {
    "keras_bert": [],
    "keras_bert, fused attention": ["fused attention"],
    "keras_bert, sequence lengths": ["sequence lengths"],
}


def works(setup):
    base, large = "bert_base_uncased", "bert_large_uncased"
    kinds = [
        [_pretraining(setup, *key) for key in _PRETRAINING],
        [_inference(setup, model) for model in (base, large)],
        [_finetuning(setup, model) for model in ("minilm", base)],
        [_classifier(setup, model) for model in ("minilm", base)],
        [_variants_of_training(setup)],
        [_variants_of_inference(setup)],
    ]
    # In a quick run, all networks are tiny, so one work of each kind is enough.
    return [
        work
        for kind in kinds
        for work in (kind[:1] if setup.is_quick else kind)
    ]


def _pretraining(setup, model, length):
    batch_size = _PRETRAINING[model, length]
    return _work(
        setup,
        name=f"pretraining_{_short(model)}_{length}",
        title=f"Pre-training step, {_title(model)}, {length} tokens",
        note="Forward, backward, clipping and AdamW, with dropout. The "
        "heads of transformers are called with the masked positions only, like "
        "our heads; transformers' own `forward` computes the logits of all "
        "positions.",
        cases={
            f"batch {batch_size}": pretraining_case(model, length, batch_size)
        },
        contestants=(
            _ours("training"),
            _ours("training", "keras_bert, rbg", ["rbg"]),
            _transformers("training", setup),
        ),
        unit="step",
    )


def _inference(setup, model):
    return _work(
        setup,
        name=f"inference_{_short(model)}",
        title=f"Inference, {_title(model)}",
        note="The hidden states.",
        cases={
            f"{length} tokens": {
                "config": _config(model),
                "seq_length": length,
                "classifies": False,
                "batch_size": batch_size,
            }
            for length, batch_size in _INFERENCE.items()
        },
        contestants=(_ours("inference"), _transformers("inference", setup)),
    )


def _finetuning(setup, model):
    return _work(
        setup,
        name=f"finetuning_{_short(model)}",
        title=f"Fine-tuning step, {_title(model)}",
        note="A classifier of two labels, 128 tokens: forward, backward, "
        "clipping and AdamW, with dropout.",
        cases={
            f"batch {batch_size}": {
                "config": _config(model),
                "seq_length": 128,
                "num_predictions": 0,
                "batch_size": batch_size,
                "num_steps": 10,
            }
            for batch_size in _CLASSIFIER_BATCHES
        },
        contestants=(_ours("training"), _transformers("training", setup)),
        unit="step",
    )


def _classifier(setup, model):
    return _work(
        setup,
        name=f"classifier_{_short(model)}",
        title=f"Inference of a classifier, {_title(model)}",
        note="Two labels, 128 tokens; a contestant waits for each answer.",
        cases={
            f"batch {batch_size}": {
                "config": _config(model),
                "seq_length": 128,
                "classifies": True,
                "batch_size": batch_size,
            }
            for batch_size in _CLASSIFIER_BATCHES
        },
        contestants=(_ours("inference"), _transformers("inference", setup)),
    )


def _variants_of_training(setup):
    cases = {}
    for length, batch_size in ((128, 256), (512, 64)):
        cases[f"{length} tokens"] = pretraining_case(
            "bert_base_uncased", length, batch_size
        )
    return _work(
        setup,
        name="variants_training",
        title="Pre-training step, BERT-base, in other ways",
        note="How much time parts of the step cost. The last three "
        "contestants leave out attention dropout, because Keras' fused "
        "attention lacks it. The difference compares the losses after ten "
        "steps; other random numbers alone change these losses.",
        cases=cases,
        contestants=(
            *(
                _ours("training", name, names)
                for name, names in _TRAINING_VARIANTS.items()
            ),
            _transformers("training", setup),
            _transformers("training", setup, passes_mask=False),
        ),
        has_targets=False,
        unit="step",
    )


def _variants_of_inference(setup):
    return _work(
        setup,
        name="variants_inference",
        title="Inference, BERT-base, in other ways",
        note="The difference compares the hidden states.",
        cases={
            f"{length} tokens": {
                "config": _config("bert_base_uncased"),
                "seq_length": length,
                "classifies": False,
                "batch_size": batch_size,
            }
            for length, batch_size in ((128, 256), (512, 64))
        },
        contestants=tuple(
            _ours("inference", name, names)
            for name, names in _INFERENCE_VARIANTS.items()
        ),
        has_targets=False,
    )


def _work(setup, *, name, title, cases, contestants, has_targets=True, **more):
    if setup.is_quick:
        cases = {"tiny": _quick(next(iter(cases.values())))}
    return Work(
        name=f"accelerator_{name}",
        title=f"On an accelerator: {title}",
        cases=cases,
        contestants=contestants,
        targets=tuple(
            Target(case, _PEER, 1.0) for case in cases if has_targets
        ),
        matrix_product=Contestant(
            "matrix product", "jax", "accelerator/matrix_product.py"
        ),
        rounds=3,
        min_seconds=1.0,
        on_accelerator=True,
        **more,
    )


def _quick(case):
    small = {
        "config": _config("bert_tiny"),
        "seq_length": 16,
        "num_predictions": 3 if case.get("num_predictions") else 0,
        "num_steps": 2,
        "batch_size": 2,
    }
    return case | {name: x for name, x in small.items() if name in case}


def pretraining_case(model, length, batch_size):
    """Returns a case of the contestants in accelerator/training."""
    return {
        "config": _config(model),
        "seq_length": length,
        "num_predictions": math.ceil(0.15 * length),
        "batch_size": batch_size,
        "num_steps": 10,
    }


def _ours(kind, name="keras_bert", variants=None):
    options = {} if variants is None else {"variants": variants}
    file = f"accelerator/{kind}/keras_bert.py"
    return Contestant(name, "jax", file, options)


def _transformers(kind, setup, passes_mask=True):
    return Contestant(
        _PEER if passes_mask else f"{_PEER}, without a mask",
        "torch",
        f"accelerator/{kind}/transformers.py",
        {
            "passes_mask": passes_mask,
            # On a CPU, inductor compiles for minutes.
            "backend": "aot_eager" if setup.is_quick else "inductor",
        },
    )


def _config(model):
    """Returns a config with Hugging Face's keys."""
    if model == "minilm":
        return _MINILM
    file = ROOT / "configs" / "models" / f"{model}.json"
    # In transformers, the gelu of google-research/bert has this name.
    changes = {"model_type": "bert", "hidden_act": "gelu_pytorch_tanh"}
    return json.loads(file.read_text(encoding="utf-8")) | changes


def _title(model):
    return {
        "minilm": "MiniLM",
        "bert_base_uncased": "BERT-base",
        "bert_large_uncased": "BERT-large",
    }[model]


def _short(model):
    return _title(model).removeprefix("BERT-").lower()

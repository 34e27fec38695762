"""A step of pre-training."""

from comparison.environments import ROOT
from comparison.work import Contestant, Target, Work

from works.inference import matrix_product, with_compiled

_RATIOS = {"float32": (1.6, 1.4), "bfloat16": (1.5, 1.2)}
_CASE = "8 x 128, 20 predictions"
_TRANSFORMERS, _KERAS_HUB = "transformers", "keras-hub, no next sentence"


def works(setup):
    return [_work(setup, precision) for precision in _RATIOS]


def _work(setup, precision):
    options = {
        "model": setup.model,
        "config_file": str(ROOT / f"configs/models/{setup.model}.json"),
        "precision": precision,
    }
    return Work(
        name=f"pretraining_step_{precision}",
        title=f"Pre-training step, {setup.title}, {precision}",
        note="Forward, backward, clipping and AdamW, with dropout. keras-hub "
        "has no next sentence, and transformers computes the logits of all "
        "128 positions.",
        cases={
            _CASE: {"batch_size": 8, "seq_length": 128, "num_predictions": 20}
        },
        contestants=(
            Contestant(
                "keras_bert",
                "keras_bert",
                "pretraining_step/keras_bert.py",
                options,
            ),
            *with_compiled(
                Contestant(
                    _TRANSFORMERS,
                    "torch",
                    "pretraining_step/transformers.py",
                    options,
                ),
                setup,
            ),
            Contestant(
                _KERAS_HUB,
                "tensorflow",
                "pretraining_step/keras_hub.py",
                options,
            ),
        ),
        targets=(
            Target(_CASE, _TRANSFORMERS, _RATIOS[precision][0]),
            Target(_CASE, _KERAS_HUB, _RATIOS[precision][1]),
        ),
        unit="step",
        matrix_product=matrix_product(precision),
        rounds=5,
        max_seconds=75,
    )

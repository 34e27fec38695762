"""Raw strings to labels."""

from comparison.work import Contestant, Preparation, Target, Work

_CHECKPOINT = "data/checkpoints/all-MiniLM-L6-v2"
_CASE = "batches of 32"


def works(setup):
    folder = setup.folder("classifier")
    rows = f"{setup.folder('sst2')}/validation.jsonl"
    options = {"model": f"{folder}/huggingface", "rows": rows}
    needs = ("classifier", "sst2")
    return [
        Work(
            name="classification",
            title="Raw strings to labels, MiniLM",
            note="The 872 sentences of the SST-2 dev set, in order; at most "
            "128 tokens, float32. All contestants use the same head, with "
            "random weights. keras-hub always pads to 128 tokens and computes "
            "gelu by tanh. It keeps accents, so 5 sentences have other ids.",
            cases={_CASE: {"batch_size": 32}},
            contestants=(
                Contestant(
                    "keras_bert",
                    "keras_bert",
                    "classification/keras_bert.py",
                    {
                        "model_dir": setup.folder("served_classifier"),
                        "rows": rows,
                    },
                    needs=("served_classifier", "sst2"),
                ),
                Contestant(
                    "transformers pipeline",
                    "torch",
                    "classification/transformers.py",
                    options,
                    needs,
                ),
                Contestant(
                    "keras-hub",
                    "tensorflow",
                    "classification/keras_hub.py",
                    options,
                    needs,
                ),
            ),
            targets=(
                Target(_CASE, "transformers pipeline", 2.0),
                Target(_CASE, "keras-hub", 1.5),
            ),
            unit="pass",
            rounds=5,
            needs_data=True,
        )
    ]


def preparations(setup):
    return {
        "classifier": Preparation(
            "keras_bert",
            "classifier.py",
            ("glue/sst2", setup.data(_CHECKPOINT)),
        ),
        "served_classifier": Preparation(
            "keras_bert",
            "served_classifier.py",
            (f"{setup.folder('classifier')}/keras_bert",),
            needs=("classifier",),
            is_kept=False,
        ),
    }

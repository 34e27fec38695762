import pytest
from kind_examples import make_kind

from keras_bert.export.model_card import finetuned_card

_TRAINING = {
    "task": "glue/sst2",
    "data": "SST-2",
    "checkpoint": "hf://owner/bert",
    "num_train_examples": 67_349,
    "num_train_steps": 6_315,
    "config": {"learning_rate": 5e-5, "tpu": "", "precision": "float32"},
    "metrics": {"accuracy": 0.9271, "loss": 0.25},
}


@pytest.fixture
def card(config, vocab_file):
    kind = make_kind(
        "classification", vocab_file, config, labels=("bad", "good")
    )
    model = kind.build_model(config)
    return lambda training: finetuned_card(
        "films", model, kind, config, training
    )


def test_what_is_known(card):
    text = card(_TRAINING)
    assert text.startswith("# films\n")
    for line in (
        "- kind: `classification`",
        "- fields: `text`",
        "- labels: `bad, good`",
        "Answers with `label` and `scores`, the probability of each label.",
        "- layers: `2`",
        "- task: `glue/sst2`",
        "- checkpoint: `hf://owner/bert`",
        "- num_train_examples: `67349`",
        "- learning_rate: `5e-05`",
        "- accuracy: `0.9271`",
        "- longest sequence: `12 tokens`",
    ):
        assert line in text, line
    assert "tpu" not in text


def test_nothing_is_said_of_what_is_not_known(card):
    text = card({})
    titles = [x for x in text.splitlines() if x.startswith("## ")]
    assert titles == ["## Task", "## Network"]
    assert "None" not in text

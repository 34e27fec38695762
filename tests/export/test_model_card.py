import pytest
from huggingface_hub import ModelCard
from kind_examples import make_kind

from keras_bert.export.model_card import finetuned_card, model_card, write_card

_TRAINING = {
    "task": "glue/sst2",
    "data": "SST-2",
    "checkpoint": "hf://owner/bert@main",
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
        "films/best", model, kind, config, training
    )


def test_what_is_known(card):
    text = card(_TRAINING)
    for line in (
        "# films",
        "- kind: `classification`",
        "- fields: `text`",
        "- labels: `bad, good`",
        "Answers with `label` and `scores`, the probability of each label.",
        "- layers: `2`",
        "- task: `glue/sst2`",
        "- checkpoint: `hf://owner/bert@main`",
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


def test_the_hub_reads_it(card):
    data = ModelCard(card(_TRAINING)).data
    assert data.pipeline_tag == "text-classification"
    assert data.base_model == "owner/bert"
    found = {x.metric_type: x.metric_value for x in data.eval_results}
    assert found == _TRAINING["metrics"]
    assert {x.dataset_name for x in data.eval_results} == {"glue/sst2"}
    assert ModelCard(card({})).data.eval_results is None


def test_a_run_gives_its_name(tmp_path):
    folder = tmp_path / "novels/checkpoints/step-00000012"
    folder.mkdir(parents=True)
    write_card(folder, model_card(folder, "fill-mask", {}, {}, {}))
    assert "\n# novels\n" in (folder / "README.md").read_text()

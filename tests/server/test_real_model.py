"""An exported classifier: the server answers as ServedModel does."""

import gc
import shutil
from pathlib import Path

import pytest
from conftest import randomize
from kind_examples import export, make_kind
from small_family import write_family
from small_server import client_of

import keras_bert
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.predict.served_model import ServedModel

TEXTS = ["the fox is good", "bad", "", "a very bad film was not good . " * 9]


@pytest.fixture
def folder(vocab_file, config, tmp_path):
    kind = make_kind(
        "classification", vocab_file, config, labels=("no", "yes", "?")
    )
    model = kind.build_model(config)
    randomize(model)
    export(model, kind, tmp_path / "small")
    return tmp_path / "small"


@pytest.mark.slow
def test_an_exported_classifier(folder):
    expected = ServedModel(folder).answer([{"text": text} for text in TEXTS])
    with client_of(folder) as client:
        # None of the signatures answers a row differently in a batch.
        servable = client.model.versions()[0].servable
        batched = {
            name
            for name, signature in servable.signatures.items()
            if signature.is_batched
        }
        assert batched == {"serving_default", "serve_examples", "classify"}
        for texts in (TEXTS, *([text] for text in TEXTS)):
            rows = client.post(
                "/v1/models/small:predict", json={"instances": texts}
            ).json()["predictions"]
            for text, row in zip(texts, rows, strict=True):
                answer = expected[TEXTS.index(text)]
                assert row["label"] == answer["label"]
                assert row["num_tokens"] == answer["num_tokens"]
                assert row["truncated"] == answer["truncated"]
                assert row["scores"] == pytest.approx(
                    list(answer["scores"].values()), abs=1e-5
                )
        results = client.post(
            "/v1/models/small:classify",
            json={
                "signature_name": "classify",
                "examples": [{"text": text} for text in TEXTS],
            },
        ).json()["results"]
        for row, answer in zip(results, expected, strict=True):
            assert dict(row) == pytest.approx(answer["scores"], abs=1e-5)
        (listed,) = client.get("/page/models").json()["models"]
        assert listed["kind"] == "classification"
        assert listed["labels"] == ["no", "yes", "?"]


@pytest.mark.slow
def test_the_page_knows_how_a_model_spells_its_mask(tmp_path):
    checkpoint = write_family(
        tmp_path / "base",
        "roberta",
        build=lambda config: build_pretraining_model(
            config, next_sentence=False
        ),
    )
    keras_bert.export.export_pretrained(checkpoint, tmp_path / "small")
    with client_of(tmp_path / "small") as client:
        (listed,) = client.get("/page/models").json()["models"]
        assert listed["mask"] == "<mask>"
        request = {
            "signature_name": "fill_mask",
            "instances": [f"the {listed['mask']}"],
        }
        response = client.post("/v1/models/small:predict", json=request)
    (answer,) = response.json()["predictions"]
    assert len(answer["masks.pieces"]) == 1


@pytest.mark.slow
def test_swapped_versions_leave_no_memory(folder):
    """A batch operation of TensorFlow kept 30 MB of each version."""
    sizes = []
    with client_of(folder) as client:
        for number in range(2, 11):
            shutil.copytree(folder / "1", folder / str(number))
            for _ in range(2):
                client.model.poll()
            answer = client.post(
                "/v1/models/small:predict", json={"instances": TEXTS * 9}
            )
            assert answer.status_code == 200
            assert client.model.versions()[0].number == number
            gc.collect()
            pages = Path("/proc/self/statm").read_text().split()[1]
            sizes.append(int(pages) * 4096)
    assert sizes[-1] - sizes[2] < 60e6, sizes

"""Pre-training continues from checkpoints of other families."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file
from short_records import LINES
from small_family import write_family

import keras_bert
from keras_bert.errors import InputError
from keras_bert.export.mask_filler import load_mask_filler
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.pretraining.config import PretrainingConfig
from keras_bert.pretraining.run import pretrain
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.run import create_pretraining_data

CONFIG = PretrainingConfig(
    learning_rate=0.003,
    train_batch_size=4,
    save_checkpoints_steps=2,
    num_train_steps=4,
    num_warmup_steps=1,
    max_seq_length=24,
    max_predictions_per_seq=3,
    next_sentence=False,
)


def _build(config):
    return build_pretraining_model(config, next_sentence=False)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize(
    "family",
    ["roberta", "electra", "modernbert", "mpnet", "distilbert", "gte"],
)
def test_it_goes_on_and_resumes(family, tmp_path):
    base = write_family(tmp_path / "base", family, build=_build)
    tokenizer = keras_bert.load_tokenizer(base)
    records = tmp_path / "records.tfrecord"
    create_pretraining_data(
        LINES,
        [records],
        tokenizer,
        PretrainingDataConfig(max_seq_length=24, max_predictions_per_seq=3),
    )

    def run(name):
        folder = tmp_path / name
        pretrain(None, [str(records)], folder, checkpoint=base, config=CONFIG)

    run("whole")
    # As if it had been killed in the interval after step 2.
    shutil.copytree(tmp_path / "whole", tmp_path / "parts")
    shutil.rmtree(tmp_path / "parts/checkpoints/step-00000004")
    run("parts")
    whole, parts = (
        load_file(
            tmp_path / name / "checkpoints/step-00000004/model.safetensors"
        )
        for name in ("whole", "parts")
    )
    before = load_file(base / "model.safetensors")
    assert whole.keys() == parts.keys()
    for path, array in whole.items():
        np.testing.assert_allclose(parts[path], array, atol=1e-6)
        assert not np.array_equal(array, before[path]), path
    filler = load_mask_filler(tmp_path / "whole", top_k=1)
    assert filler.tokenizer.vocab == tokenizer.vocab
    mask = tokenizer.special_tokens.mask
    assert len(filler.fill(f"the {mask} is a {mask} .")) == 2


@pytest.mark.slow
def test_records_of_other_steps_with_the_same_pieces_are_not_mixed(tmp_path):
    folder = write_family(tmp_path / "base", "roberta", build=_build)
    file = folder / "tokenizer.json"
    values = json.loads(file.read_text())

    def create():
        create_pretraining_data(
            LINES,
            [tmp_path / "records.tfrecord"],
            keras_bert.load_tokenizer(folder),
            PretrainingDataConfig(max_seq_length=24),
        )

    create()
    create()
    assert values["normalizer"] is None
    file.write_text(json.dumps(values | {"normalizer": {"type": "NFC"}}))
    with pytest.raises(InputError, match="with other settings .tokenizer_json"):
        create()

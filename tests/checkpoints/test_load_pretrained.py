import dataclasses
import json

import numpy as np
import pytest
from conftest import randomize
from safetensors.numpy import save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.errors import InputError
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.tokenizer_settings import TokenizerSettings


@pytest.fixture
def checkpoint(config, vocab_file, tmp_path):
    model = build_pretraining_model(config)
    randomize(model)
    folder = tmp_path / "pretrained"
    folder.mkdir()
    weights = {w.path: w.numpy() for w in model.weights}
    save_file(weights, folder / "model.safetensors")
    (folder / "bert_config.json").write_text(config.to_json())
    (folder / "vocab.txt").write_bytes(vocab_file.read_bytes())
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    return folder


def test_all_parts_come_from_the_checkpoint(checkpoint, config):
    loaded = load_pretrained(checkpoint, seq_length=13)
    assert loaded.config == config
    assert loaded.tokenizer.settings == TokenizerSettings(False)
    assert loaded.preprocessor.seq_length == 13
    features = loaded.preprocessor(["The fox", "the fox"])
    assert features["input_ids"].numpy().tolist() == [
        [2, 1, 9, 3],
        [2, 5, 9, 3],
    ]
    loaded = load_pretrained(checkpoint, seq_length=13, do_lower_case=True)
    assert loaded.tokenizer(["The fox"]).to_list() == [[5, 9]]


def test_what_does_not_fit_is_refused(checkpoint):
    with pytest.raises(InputError, match="max_seq_length 17 is over the .* 16"):
        load_pretrained(checkpoint, seq_length=17)
    with (checkpoint / "vocab.txt").open("a") as vocab:
        vocab.write("more\n")
    with pytest.raises(InputError, match="has 32 word pieces, but .* of 31"):
        load_pretrained(checkpoint, seq_length=16)
    (checkpoint / "vocab.txt").unlink()
    with pytest.raises(
        FileNotFoundError, match="No vocab.txt; give a vocab_file"
    ):
        load_pretrained(checkpoint, seq_length=16)


def test_vectors_of_minilm(shared):
    """Equal to transformers; see golden/minilm."""
    folder = shared / "golden" / "minilm"
    expected = np.load(folder / "expected.npz")
    loaded = load_pretrained(shared / "data/checkpoints/all-MiniLM-L6-v2")
    texts = json.loads((folder / "texts.json").read_text())
    singles = [i for i, (_, second) in enumerate(texts) if second is None]
    features = loaded.preprocessor([texts[i][0] for i in singles])
    outputs = loaded.encoder(features)
    np.testing.assert_allclose(
        outputs["pooled_output"],
        expected["pooled_output"][singles],
        atol=1e-4,
        rtol=0,
    )
    is_token = features["input_mask"].numpy() == 1
    wanted = expected["sequence_output"][singles]
    np.testing.assert_allclose(
        outputs["sequence_output"].numpy()[is_token],
        wanted[expected["input_mask"][singles] == 1],
        atol=1e-4,
        rtol=0,
    )


def test_the_default_length_is_what_the_checkpoint_takes(
    checkpoint, config, tmp_path
):
    """At most 128; transformers writes 1e30 for no limit."""
    settings = checkpoint / "tokenizer_config.json"
    for value, length in (
        ("", 16),  # the positions of the network
        (', "model_max_length": 12', 12),
        (', "model_max_length": 1e30', 16),
        (', "model_max_length": null', 16),
    ):
        settings.write_text(f'{{"do_lower_case": true{value}}}')
        assert load_pretrained(checkpoint).preprocessor.seq_length == length
    settings.write_text('{"model_max_length": "long"}')
    with pytest.raises(InputError, match="is 'long', but must be a number"):
        load_pretrained(checkpoint)
    longer = dataclasses.replace(config, max_position_embeddings=130)
    folder = write_checkpoint(tmp_path / "longer", longer)
    assert load_pretrained(folder).preprocessor.seq_length == 128

import dataclasses

import pytest
from safetensors.numpy import save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.checkpoints.resize.vocab import extend_vocab, trim_vocab
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.export.mask_filler import fill_mask
from keras_bert.models.encoder import build_encoder
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.vocab import load_vocab


@pytest.fixture
def checkpoint(config, tmp_path):
    folder = write_checkpoint(
        tmp_path / "pretrained", config, build=build_pretraining_model
    )
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    return folder


def test_all_parts_come_from_the_checkpoint(checkpoint, config):
    loaded = load_pretrained(checkpoint, max_seq_length=13)
    assert loaded.config == config
    assert loaded.tokenizer.settings == TokenizerSettings(False)
    assert loaded.preprocessor.max_seq_length == 13
    features = loaded.preprocessor(["The fox", "the fox"])
    assert features["input_ids"].numpy().tolist() == [
        [2, 1, 9, 3],
        [2, 5, 9, 3],
    ]
    loaded = load_pretrained(checkpoint, max_seq_length=13, do_lower_case=True)
    assert loaded.tokenizer(["The fox"]).to_list() == [[5, 9]]


def test_another_vocabulary_is_refused(checkpoint):
    with (checkpoint / "vocab.txt").open("a") as vocab:
        vocab.write("more\n")
    with pytest.raises(InputError, match="has 32 word pieces, but .* of 31"):
        load_pretrained(checkpoint, max_seq_length=16)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("vocab.txt", "No vocab.txt; give .* weights, but .*pretrained has no"),
        ("bert_config.json", "pretrained has neither bert_config.json nor"),
        ("model.safetensors", "No checkpoint at .*pretrained; give a folder"),
    ],
)
def test_a_missing_file_is_named(checkpoint, name, message):
    (checkpoint / name).unlink()
    with pytest.raises(FileNotFoundError, match=message):
        load_pretrained(checkpoint, max_seq_length=16)


def test_a_name_on_the_hub_is_recognized(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match="write hf://google-bert/bert-base-uncased.$"
    ):
        load_pretrained("google-bert/bert-base-uncased")
    with pytest.raises(FileNotFoundError, match="is incomplete.$"):
        load_pretrained("/runs/first")
    (tmp_path / "runs").mkdir()
    with pytest.raises(FileNotFoundError, match="is incomplete.$"):
        load_pretrained("runs/first")


def test_swapped_arguments_are_recognized(checkpoint, config):
    model = build_encoder(config)
    with pytest.raises(InputError, match="give the model first and the path"):
        load_checkpoint(checkpoint, model)
    with pytest.raises(InputError, match="A path is 3, but must be a string"):
        load_checkpoint(model, 3)
    with pytest.raises(InputError, match="There is no checkpoint; give a path"):
        load_checkpoint(model, None)


def test_rows_that_no_word_piece_uses(checkpoint, config):
    """31 word pieces and 32 rows: the last one fills up a multiple of 8."""
    padded = dataclasses.replace(config, vocab_size=32)
    model = build_pretraining_model(padded)
    weights = {w.path: w.numpy() for w in model.weights}
    # Without care, it would be the best guess for every [MASK].
    weights["masked_lm/output_bias"][31] = 100
    save_file(weights, checkpoint / "model.safetensors")
    (checkpoint / "bert_config.json").write_text(padded.to_json())
    loaded = load_pretrained(checkpoint, max_seq_length=13)
    assert loaded.tokenizer.vocab_size == 31
    load_checkpoint(model, checkpoint)
    (guesses,) = fill_mask(model, loaded.tokenizer, "a [MASK]", top_k=31)
    assert {piece for piece, _ in guesses} == set(loaded.tokenizer.vocab)
    assert sum(p for _, p in guesses) == pytest.approx(1)
    figures = trim_vocab(checkpoint, checkpoint / "small", ["the fox"])
    assert figures["vocab_size_before"] == 31
    extend_vocab(checkpoint, checkpoint / "new", words=["cats"])
    assert BertConfig.from_json(
        checkpoint / "new" / "bert_config.json"
    ).vocab_size == len(load_vocab(checkpoint / "new" / "vocab.txt"))


def test_the_longest_sequence_that_the_checkpoint_takes(checkpoint, config):
    settings = checkpoint / "tokenizer_config.json"
    for values, length in (
        ("{}", 16),  # the positions of the network
        ('{"model_max_length": null}', 16),
        ('{"max_len": 12}', 12),  # as in transformers 2
        ('{"max_len": 12, "model_max_length": 14}', 14),
    ):
        settings.write_text(values)
        assert Checkpoint.of(checkpoint).longest_sequence(config) == length


def test_the_default_length_is_at_most_128(config, tmp_path):
    for positions, length in ((130, 128), (19, 19)):
        longer = dataclasses.replace(config, max_position_embeddings=positions)
        folder = write_checkpoint(tmp_path / str(positions), longer)
        assert load_pretrained(folder).preprocessor.max_seq_length == length

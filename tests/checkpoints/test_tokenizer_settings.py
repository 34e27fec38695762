import json
import re

import numpy as np
import pytest
from safetensors.numpy import save_file

from keras_bert.checkpoints.load_tokenizer import (
    load_tokenizer,
    resolve_tokenizer_settings,
    tokenizer_values,
)
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.without_tensorflow import ListTokenizer

CASED, UNCASED = TokenizerSettings(False), TokenizerSettings(True)


@pytest.fixture
def checkpoint(tmp_path):
    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        save_file({"x": np.zeros(1)}, folder / "model.safetensors")
        return folder

    return make


def test_the_tokenizer_has_the_settings_of_the_checkpoint(
    checkpoint, vocab_file
):
    folder = checkpoint("some_bert")
    settings = TokenizerSettings(False, tokenize_chinese_chars=False)
    (folder / "tokenizer_config.json").write_text(settings.to_json(16))
    other = folder / "vocab.txt"
    other.write_text(vocab_file.read_text() + "dogs\n")
    assert load_tokenizer(folder).vocab_size == 32
    tokenizer = load_tokenizer(folder, vocab_file=vocab_file)
    assert tokenizer.vocab_size == 31
    assert tokenizer.settings == settings
    other.unlink()
    for without in (folder, None):
        with pytest.raises(FileNotFoundError, match="give a vocab_file, or a"):
            load_tokenizer(without)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("uncased_L-12_H-768_A-12", UNCASED),
        ("cased_L-24_H-1024_A-16", CASED),
        ("multi_cased_L-12_H-768_A-12", CASED),
        ("bert-base-uncased", UNCASED),
        ("BERT-Base-Cased", CASED),
        ("bert_base", None),
        ("showcased", None),
    ],
)
def test_the_name_tells_the_case(checkpoint, name, settings):
    folder = checkpoint(name)
    told = {} if settings is None else {"do_lower_case": settings.do_lower_case}
    assert tokenizer_values(folder) == told
    assert tokenizer_values(folder / "model.safetensors") == told


def test_the_file_beside_the_weights_overrides_the_name(checkpoint):
    folder = checkpoint("cased")
    file = folder / "tokenizer_config.json"
    file.write_text('{"do_lower_case": true, "strip_accents": false}')
    expected = {"do_lower_case": True, "strip_accents": False}
    assert tokenizer_values(folder) == expected
    file.write_text('{"tokenize_chinese_chars": false}')
    expected = {"do_lower_case": False, "tokenize_chinese_chars": False}
    assert tokenizer_values(folder) == expected


@pytest.mark.parametrize(
    ("family", "cls", "separators", "segment"),
    [
        ("bert", "[CLS]", 1, 1),
        ("distilbert", "[CLS]", 1, 0),
        ("mpnet", "<s>", 2, 0),
    ],
)
def test_the_family_tells_the_class(
    checkpoint, family, cls, separators, segment
):
    """MPNet's vocabulary also has BERT's special tokens, unused."""
    folder = checkpoint(family)
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    pieces = "<s> <pad> </s> [UNK] [PAD] [CLS] [SEP] [MASK] a <mask>"
    (folder / "vocab.txt").write_text(pieces.replace(" ", "\n"))
    values = tokenizer_values(folder)
    assert values["special_tokens"][2] == cls
    assert values.get("pair_separators", 1) == separators
    assert values["second_segment"] == segment


def test_capitals_in_a_vocabulary_tell_its_case(shared, vocab_file):
    assert resolve_tokenizer_settings(None, vocab_file) == UNCASED
    for name, settings in (
        ("uncased", UNCASED),
        ("cased", CASED),
        ("multilingual-cased", CASED),
    ):
        file = shared / f"data/vocab/bert-base-{name}.vocab.txt"
        assert resolve_tokenizer_settings(None, file) == settings


def test_checkpoint_then_vocabulary(checkpoint, vocab_file):
    folder = checkpoint("some_bert")
    assert resolve_tokenizer_settings(None, vocab_file) == UNCASED
    assert resolve_tokenizer_settings(folder, vocab_file) == UNCASED
    vocab_file.write_text(vocab_file.read_text() + "Fox\n")
    assert resolve_tokenizer_settings(folder, vocab_file) == CASED
    values = {"do_lower_case": True, "strip_accents": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(values))
    lower = TokenizerSettings(True, strip_accents=False)
    assert resolve_tokenizer_settings(folder, vocab_file) == lower


def test_a_given_case_overrides_the_checkpoint_with_a_warning(
    checkpoint, vocab_file, caplog
):
    folder = checkpoint("multi_cased_L-12_H-768_A-12")
    for path in (folder, checkpoint("some_bert"), None):
        assert resolve_tokenizer_settings(path, vocab_file, False) == CASED
    assert "was trained with" not in caplog.text
    assert resolve_tokenizer_settings(folder, vocab_file, True) == UNCASED
    assert (
        "was made with do_lower_case=False, but do_lower_case=True was given"
        in caplog.text
    )


def test_a_vocabulary_of_the_other_case_is_named(vocab_file, caplog):
    ListTokenizer(vocab_file)
    assert not caplog.records
    ListTokenizer(vocab_file, False)
    assert re.search(
        "0 word pieces of .* have a capital, but do_lower_case is False",
        caplog.text,
    )
    caplog.clear()
    vocab_file.write_text(vocab_file.read_text() + "Fox")
    ListTokenizer(vocab_file)
    assert not caplog.records  # one piece of 32
    vocab_file.write_text(vocab_file.read_text() + "\nDog")
    ListTokenizer(vocab_file)
    assert re.search(
        "2 word pieces of .* have a capital, but do_lower_case is True",
        caplog.text,
    )

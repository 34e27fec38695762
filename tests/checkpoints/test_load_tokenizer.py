import pytest

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings


@pytest.fixture
def checkpoint(tmp_path, vocab_file):
    (tmp_path / "model.safetensors").touch()  # its weights are not read
    return tmp_path


def test_the_settings_are_those_of_the_checkpoint(checkpoint):
    settings = TokenizerSettings(False, tokenize_chinese_chars=False)
    (checkpoint / "tokenizer_config.json").write_text(settings.to_json(16))
    assert load_tokenizer(checkpoint).settings == settings
    other = checkpoint / "other.txt"
    other.write_text((checkpoint / "vocab.txt").read_text() + "dogs")
    tokenizer = load_tokenizer(checkpoint, vocab_file=other)
    assert tokenizer.vocab_size == 32
    assert tokenizer.settings == settings


def test_a_missing_vocabulary_is_named(checkpoint):
    (checkpoint / "vocab.txt").unlink()
    for folder in (checkpoint, None):
        with pytest.raises(FileNotFoundError, match="give a vocab_file, or a"):
            load_tokenizer(folder)

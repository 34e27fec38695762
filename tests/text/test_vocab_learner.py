import pytest

from keras_bert.text import vocab_learner
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import SPECIAL_TOKENS, TokenizerSettings
from keras_bert.text.vocab_learner import (
    count_words,
    learn_vocab,
    words_of_texts,
)

TEXT = ["The cat sat on the mat.", "A cat, a Café and 中文."] * 40


def test_special_tokens_then_characters_then_pieces(tmp_path):
    vocab = learn_vocab(TEXT, tmp_path / "vocab.txt", vocab_size=120)
    assert tuple(vocab[:5]) == SPECIAL_TOKENS
    assert (tmp_path / "vocab.txt").read_text().splitlines() == vocab
    assert {"the", "cat", "cafe", ",", "中", "##t"} <= set(vocab)
    assert "The" not in vocab
    tokenizer = BertTokenizer(tmp_path / "vocab.txt")
    assert tokenizer.tokens(tokenizer(["the cat."]).to_list()[0]) == [
        "the",
        "cat",
        ".",
    ]


def test_case_is_kept_on_request(tmp_path):
    vocab = learn_vocab(
        TEXT, tmp_path / "vocab.txt", vocab_size=120, do_lower_case=False
    )
    assert {"The", "Café"} <= set(vocab)


def test_a_small_size_keeps_every_character(tmp_path):
    vocab = learn_vocab(TEXT, tmp_path / "vocab.txt", vocab_size=103)
    assert len(vocab) <= 103
    tokenizer = BertTokenizer(tmp_path / "vocab.txt")
    ids = [i for row in tokenizer(TEXT).to_list() for i in row]
    assert tokenizer.unk_id not in ids


@pytest.mark.parametrize(
    ("lines", "size", "message"),
    [
        ([], 100, "no word to learn"),
        (["", "  "], 100, "no word to learn"),
        ("corpus.txt", 100, "lines is the string 'corpus.txt', but lines of"),
        (TEXT, 99, "no room for word pieces"),
    ],
)
def test_wrong_input_leaves_no_file(tmp_path, lines, size, message):
    with pytest.raises(ValueError, match=message):
        learn_vocab(lines, tmp_path / "vocab.txt", vocab_size=size)
    assert not list(tmp_path.iterdir())


LINES = ["A Café, a cat.", "", "the CAT 中文"]


def test_words_are_counted_over_lines():
    assert count_words(iter(LINES), TokenizerSettings()) == {
        "a": 2,
        "cafe": 1,
        ",": 1,
        "cat": 2,
        ".": 1,
        "the": 1,
        "中": 1,
        "文": 1,
    }


def test_words_of_texts_keep_their_case_on_request():
    assert words_of_texts(LINES, TokenizerSettings(False)) == [
        ["A", "Café", ",", "a", "cat", "."],
        [],
        ["the", "CAT", "中", "文"],
    ]


def test_rare_words_are_forgotten_if_there_are_too_many(monkeypatch, caplog):
    monkeypatch.setattr(vocab_learner, "_MAX_WORDS", 3)
    monkeypatch.setattr(vocab_learner, "_LINES_PER_CALL", 2)
    counts = count_words(["a b", "a c d", "e a", "e"], TokenizerSettings())
    assert counts == {"a": 3, "e": 2}
    assert "more than 3 different words" in caplog.text

import pytest

from keras_bert.text import word_counts
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.word_counts import count_words, words_of_texts

TEXTS = ["A Café, a cat.", "", "the CAT 中文"]


def test_words_are_counted_over_lines():
    assert count_words(iter(TEXTS), TokenizerSettings()) == {
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
    assert words_of_texts(TEXTS, TokenizerSettings(False)) == [
        ["A", "Café", ",", "a", "cat", "."],
        [],
        ["the", "CAT", "中", "文"],
    ]


def test_rare_words_are_forgotten_if_there_are_too_many(monkeypatch, caplog):
    monkeypatch.setattr(word_counts, "_MAX_WORDS", 3)
    monkeypatch.setattr(word_counts, "_LINES_PER_CALL", 2)
    counts = count_words(["a b", "a c d", "e a", "e"], TokenizerSettings())
    assert counts == {"a": 3, "e": 2}
    assert "more than 3 different words" in caplog.text


@pytest.mark.parametrize("lines", [[], [""], ["  ", "\t"]])
def test_no_words(lines):
    assert count_words(lines, TokenizerSettings()) == {}

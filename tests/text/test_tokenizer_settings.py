"""Expected words come from BertNormalizer and BertPreTokenizer (tokenizers)."""

import json
import unicodedata

import pytest
import tensorflow as tf
from conftest import SPECIAL_TOKENS

from keras_bert.errors import InputError
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_files import read_values
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.words import clean_text, split_words

TEXTS = [
    "Élan VITAL, naïve",
    "Ein ÜBERMUT groß",
    "한국어 문장",
    "中文字ABC 漢字",
    "İstanbul",
    "Ａ１ が ガ",
]
LOWER_WITH_ACCENTS = TokenizerSettings(strip_accents=False)
CASED_WITHOUT_ACCENTS = TokenizerSettings(False, strip_accents=True)
WORDS = {
    LOWER_WITH_ACCENTS: [
        "élan vital , naïve",
        "ein übermut groß",
        "한국어 문장",
        "中 文 字 abc 漢 字",
        "i̇stanbul",
        "ａ１ が ガ",
    ],
    CASED_WITHOUT_ACCENTS: [
        "Elan VITAL , naive",
        "Ein UBERMUT groß",
        unicodedata.normalize("NFD", "한국어 문장"),
        "中 文 字 ABC 漢 字",
        "Istanbul",
        "Ａ１ か カ",
    ],
    TokenizerSettings(tokenize_chinese_chars=False): [
        "elan vital , naive",
        "ein ubermut groß",
        unicodedata.normalize("NFD", "한국어 문장"),
        "中文字abc 漢字",
        "istanbul",
        "ａ１ か カ",
    ],
    TokenizerSettings(False, tokenize_chinese_chars=False): [
        "Élan VITAL , naïve",
        "Ein ÜBERMUT groß",
        "한국어 문장",
        "中文字ABC 漢字",
        "İstanbul",
        "Ａ１ が ガ",
    ],
}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (TokenizerSettings(), "οδος"),
        (TokenizerSettings(is_of_hub=True), "οδοσ"),
    ],
)
def test_a_sigma_at_the_end_of_a_word(settings, words):
    """`tokenizers` lower-cases each character alone, Python the word."""
    for text in ("ΟΔΟΣ", "οδοΣ", "ΌΔΌΣ"):
        assert clean_text([text], settings)[0].numpy().decode() == words
    assert clean_text(["οδος"], settings)[0].numpy().decode() == "οδος"


@pytest.mark.parametrize("settings", WORDS)
def test_words_of_hugging_face(settings):
    words, starts = split_words(
        clean_text(tf.constant(TEXTS), settings), settings
    )
    assert [" ".join(w.decode() for w in row) for row in words.to_list()] == (
        WORDS[settings]
    )
    assert (
        starts[3, -1] == {True: 16, False: 13}[settings.tokenize_chinese_chars]
    )


@pytest.mark.parametrize(
    ("settings", "text", "located"),
    [
        (
            TokenizerSettings(tokenize_chinese_chars=False),
            "É中文, 文中",
            [("e", "É"), ("##中", "中"), ("##文", "文"), (",", ",")]
            + [("[UNK]", "文中")],
        ),
        (
            LOWER_WITH_ACCENTS,
            "É中e\u0301 e",
            [("é", "É"), ("中", "中"), ("[UNK]", "e\u0301"), ("e", "e")],
        ),
        (
            CASED_WITHOUT_ACCENTS,
            "É,한 é",
            [("E", "É"), (",", ","), ("ᄒ", "한"), ("##ᅡ", "한")]
            + [("##ᆫ", "한"), ("e", "é")],
        ),
    ],
)
def test_tokens_and_their_places(tmp_path, settings, text, located):
    file = tmp_path / "vocab.txt"
    pieces = "e E é 中 ##中 ##文 , ᄒ ##ᅡ ##ᆫ".split()
    file.write_text("\n".join([*SPECIAL_TOKENS, *pieces]), encoding="utf-8")
    tokenizer = BertTokenizer(
        file,
        settings.do_lower_case,
        strip_accents=settings.strip_accents,
        tokenize_chinese_chars=settings.tokenize_chinese_chars,
    )
    assert tokenizer.settings == settings
    texts = ["", text, "字" * 201]
    found = tokenizer.tokenize_with_offsets(texts)
    ids = found.ids.to_list()
    assert ids == tokenizer(texts).to_list()
    assert ids[0] == []
    split = settings.tokenize_chinese_chars
    assert ids[2] == [tokenizer.unk_id] * (201 if split else 1)
    starts, ends = found.start_chars.to_list(), found.end_chars.to_list()
    assert [
        (tokenizer.vocab[i], text[start:end])
        for i, start, end in zip(ids[1], starts[1], ends[1], strict=True)
    ] == located


def test_hugging_faces_file(tmp_path):
    file = tmp_path / "tokenizer_config.json"
    settings = TokenizerSettings(False, True, False)
    file.write_text(settings.to_json(model_max_length=16))
    assert json.loads(file.read_text()) == {
        "do_lower_case": False,
        "model_max_length": 16,
        "strip_accents": True,
        "tokenize_chinese_chars": False,
        "tokenizer_class": "BertTokenizer",
    }
    assert read_values(tmp_path).items() >= settings.to_values().items()


@pytest.mark.parametrize("text", ["{", "[]", '{"do_lower_case": "no"}'])
def test_a_broken_file_is_named(tmp_path, text):
    file = tmp_path / "tokenizer_config.json"
    file.write_text(text)
    with pytest.raises(
        InputError, match="config.json is not|has a wrong setting"
    ):
        TokenizerSettings.from_values(read_values(tmp_path), tmp_path)

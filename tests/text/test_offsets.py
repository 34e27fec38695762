import random
import unicodedata

import pytest
import tensorflow as tf
from conftest import SPECIAL_TOKENS

from keras_bert.text.tokenizer import BertTokenizer, PortableTokenizer

PIECES = "fox ##es é ##é e ##e 한국 ##어 中 . , un ##ᅡ ᄒ ##ᆫ mask".split()


@pytest.fixture(scope="module", params=[BertTokenizer, PortableTokenizer])
def tokenizer_class(request):
    return request.param


@pytest.fixture(scope="module")
def tokenizer(tokenizer_class):
    return tokenizer_class([*SPECIAL_TOKENS, *PIECES])


def _located(tokenizer, text):
    """Pieces with their parts of the text; checks that both offsets agree."""
    rows = [
        field.to_list() for field in tokenizer.tokenize_with_offsets([text])
    ]
    assert rows[0] == tokenizer([text]).to_list()
    located = []
    for id_, start_byte, end_byte, start, end in zip(
        *(row[0] for row in rows), strict=True
    ):
        assert text[start:end].encode() == text.encode()[start_byte:end_byte]
        located.append((tokenizer.vocab[id_], start, end))
    return located


@pytest.mark.parametrize(
    ("text", "located"),
    [
        (
            "  Foxes,fox",
            [("fox", 2, 5), ("##es", 5, 7), (",", 7, 8), ("fox", 8, 11)],
        ),
        # A removed character may be inside a token, but not at its ends.
        ("\u200bf\xado\x00x\u200b .", [("fox", 1, 6), (".", 8, 9)]),
        ("E\u0301\u0323 é", [("e", 0, 1), ("e", 4, 5)]),
        ("f\u0301ox", [("fox", 0, 4)]),
        # One character, three pieces.
        ("😀 한", [("[UNK]", 0, 1), ("ᄒ", 2, 3), ("##ᅡ", 2, 3), ("##ᆫ", 2, 3)]),
        ("fox中fox", [("fox", 0, 3), ("中", 3, 4), ("fox", 4, 7)]),
        # [UNK] covers a whole word. A word over 200 characters is always [UNK].
        ("foxy,", [("[UNK]", 0, 4), (",", 4, 5)]),
        (
            "fox " + 201 * "É" + ".",
            [("fox", 0, 3), ("[UNK]", 4, 205), (".", 205, 206)],
        ),
        (" \t", []),
        ("", []),
    ],
)
def test_offsets_of_lower_cased_text(tokenizer, text, located):
    assert _located(tokenizer, text) == located


def test_offsets_of_cased_text(tokenizer_class):
    tokenizer = tokenizer_class([*SPECIAL_TOKENS, *PIECES], False)
    assert _located(tokenizer, "Fox é한국어\ufeff 한국\ufeff어.") == [
        ("[UNK]", 0, 3),
        ("[UNK]", 4, 8),
        ("한국", 10, 12),
        ("##어", 13, 14),
        (".", 14, 15),
    ]


def test_an_invalid_byte_is_not_a_character(tokenizer):
    tokens = tokenizer.tokenize_with_offsets(
        [b"\xfff\xed\xa0\x80ox\xe4\xb8 \xe4\xb8\xad", b"fox"]
    )
    assert [field.to_list() for field in tokens] == [
        [[5, 13], [5]],
        [[1, 10], [0]],
        [[7, 13], [3]],
        [[0, 4], [0]],
        [[3, 5], [3]],
    ]
    assert {field.dtype for field in tokens} == {tf.int32}
    assert tokenizer.tokenize_with_offsets([]).ids.to_list() == []


@pytest.mark.slow  # traces take seconds
def test_the_same_in_a_graph_of_any_number_of_texts(tokenizer):
    locate = tf.function(
        tokenizer.tokenize_with_offsets,
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    for texts in (["Foxes\u200b, [MASK] 한", "", "é中"], [""], []):
        expected = tokenizer.tokenize_with_offsets(texts)
        found = locate(tf.constant(texts, tf.string))
        for field, values in zip(found, expected, strict=True):
            assert field.to_list() == values.to_list()


@pytest.mark.parametrize("lower_case", [True, False])
def test_the_part_of_the_text_spells_the_piece(tokenizer_class, lower_case):
    choose = random.Random(8)
    characters = "foxesFÉé\u0301\u0323\xad\x00中한국어ΣσAς.,  \u3000😀ŉ"
    texts = [
        "".join(
            choose.choices([*characters, "[MASK]"], k=choose.randint(0, 30))
        )
        for _ in range(1000)
    ]
    pieces = (
        "f o ##o fo ##x ##es É é e ##e ##é 中 한 ##국어 σ ς Σ ##σ ##ς a A ##a ."
    )
    tokenizer = tokenizer_class([*SPECIAL_TOKENS, *pieces.split()], lower_case)
    rows = tokenizer.tokenize_with_offsets(texts)
    assert rows.ids.to_list() == tokenizer(texts).to_list()
    num_checked = 0
    for text, *row in zip(texts, *(f.to_list() for f in rows), strict=True):
        last = 0
        for id_, start_byte, end_byte, start, end in zip(*row, strict=True):
            assert last <= start < end <= len(text)
            last = end
            part = text[start:end]
            assert part.encode() == text.encode()[start_byte:end_byte]
            if tokenizer.vocab[id_] not in SPECIAL_TOKENS:
                piece = tokenizer.vocab[id_].removeprefix("##")
                assert _plain(part, lower_case) == piece.replace("ς", "σ")
                num_checked += 1
    assert num_checked > 1000


def _plain(part, lower_case):
    if lower_case:
        part = unicodedata.normalize("NFD", part.lower())
        part = "".join(c for c in part if unicodedata.category(c) != "Mn")
    return part.translate({0: None, 0xAD: None, ord("ς"): "σ"})

"""Any Unicode text, compared with the rules in plain Python."""

import random
import unicodedata

import pytest
import tensorflow as tf
from conftest import SPECIAL_TOKENS

from keras_bert.text.tokenizer import BertTokenizer, PortableTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.text.words import clean_text, split_words

# Unicode 14 changed an accent and added capitals. TensorFlow lower-cases by
# Unicode 13; no released vocabulary has a word piece with these letters.
_CHANGED = {
    *(0x1734, 0x2C2F, 0xA7C0, 0xA7D0, 0xA7D6, 0xA7D8),
    *range(0x10570, 0x10596),
}
_CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
# Blocks whose characters are all in Unicode 13, which TensorFlow follows for a
# final sigma, so that they are the same in any version of Python.
_OLD_BLOCKS = (
    range(0x000, 0x530),  # Latin, Greek, Cyrillic, combining marks
    range(0x591, 0x61C),  # Hebrew, Arabic
    range(0x900, 0xA00),  # Indian scripts
    range(0xE00, 0xECE),  # Thai, Lao
    range(0xF00, 0xFDA),  # Tibetan
    range(0x1100, 0x1250),  # Hangul letters
    range(0x1E00, 0x20C0),  # more Latin and Greek, punctuation
    range(0x2100, 0x2C00),  # symbols
    range(0x3000, 0x9FFD),  # East Asian scripts
    range(0xAC00, 0xD7A4),  # Hangul syllables
    range(0xF900, 0xFBC2),  # compatibility forms
    range(0xFE00, 0x10000),
    range(0x1D100, 0x1D1E9),  # musical symbols
    range(0x1D400, 0x1D800),  # mathematical letters
    range(0x1F600, 0x1F680),  # emoticons
    range(0x20000, 0x2A6D7),  # CJK ideographs
    range(0x2F800, 0x2FA1E),
)
_OLD_CHARACTERS = [
    [chr(p) for p in block if unicodedata.category(chr(p)) not in ("Cn", "Co")]
    for block in _OLD_BLOCKS
]
# Scripts, spaces and marks to which all kinds of rules apply.
_SPICE = (
    "  \t\n\r\u3000\u2028\x85.,'’-[]#_$§… aAbzZéÉñß0٣ΣσςΑά\u0301\u0323\u0345"
    "İıǅſﬁ½™´Ⅷ中文字豈한국ㅋㅎかがガｶﾞ\u3099กำ\u0e33हिन्\u200d\u200c\ufeff\xad\x00\x7f"
    "\ufffd\U0001d165\U0001d16d\u302e𝛀😀🇩"
)


@pytest.fixture(params=[BertTokenizer, PortableTokenizer])
def tokenizer_class(request):
    return request.param


def reference_words(text, lower_case):
    """Splits a text into words and marks as tokenization.py does."""
    kept = ""
    for char in text:
        category = unicodedata.category(char)
        if char in "\t\n\r" or category == "Zs":
            kept += " "
        elif any(low <= ord(char) <= high for low, high in _CJK_BLOCKS):
            kept += f" {char} "
        elif category not in ("Cc", "Cf") and char != "\ufffd":
            kept += char
    words = []
    for word in kept.split():
        if lower_case:
            word = unicodedata.normalize("NFD", word.lower())
        begins = True
        for char in word:
            category = unicodedata.category(char)
            if lower_case and category == "Mn":
                continue
            ascii_mark = char.isascii() and not char.isalnum()
            mark = ascii_mark or category.startswith("P")
            if begins or mark:
                words.append("")
            words[-1] += char
            begins = mark
    return words


def reference_ids(text, lower_case, ids):
    result = []
    for word in reference_words(text, lower_case):
        pieces, start = [], 0
        while start < len(word) <= 200:
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if prefix + word[start:e] in ids), 0)
            if not end:
                break
            pieces.append(ids[prefix + word[start:end]])
            start = end
        result += pieces if start == len(word) else [ids["[UNK]"]]
    return result


def random_texts(num_texts, *, max_length, seed=5):
    choose = random.Random(seed)
    return [
        "".join(
            choose.choice(
                _SPICE
                if choose.random() < 0.7
                else choose.choice(_OLD_CHARACTERS)
            )
            for _ in range(choose.randint(0, max_length))
        )
        for _ in range(num_texts)
    ]


def write_vocab(folder, pieces):
    """Writes a vocabulary; returns the file and the ids of its pieces."""
    vocab = list(dict.fromkeys([*SPECIAL_TOKENS, *pieces]))
    file = folder / "vocab.txt"
    file.write_text("\n".join(vocab), encoding="utf-8", newline="\n")
    return file, {piece: i for i, piece in enumerate(vocab)}


def vocab_of(texts, folder, lower_case):
    """Writes a vocabulary of random pieces, to split words of all kinds."""
    choose = random.Random(1)
    pieces = []
    for text in texts[::9]:
        for word in reference_words(text, lower_case):
            start = choose.randrange(len(word))
            end = choose.randint(start + 1, len(word))
            pieces.append(("##" if start else "") + word[start:end])
            pieces += [word[0], "##" + choose.choice(word)]
    return write_vocab(folder, pieces)


@pytest.mark.parametrize("lower_case", [True, False])
def test_random_text(tmp_path, lower_case, tokenizer_class):
    texts = random_texts(2000, max_length=30)
    file, vocab = vocab_of(texts, tmp_path, lower_case)
    ids = tokenizer_class(file, lower_case)(texts).to_list()
    expected = [reference_ids(text, lower_case, vocab) for text in texts]
    assert ids == expected
    settings = TokenizerSettings(lower_case)
    words, _ = split_words(clean_text(tf.constant(texts), settings), settings)
    assert [[word.decode() for word in row] for row in words.to_list()] == [
        reference_words(text, lower_case) for text in texts
    ]
    # Known and unknown words are both frequent.
    flat = sum(expected, [])
    assert len(flat) / 9 < flat.count(1) < len(flat) / 2


@pytest.mark.slow
@pytest.mark.parametrize("lower_case", [True, False])
def test_every_character_in_context(tmp_path, lower_case, tokenizer_class):
    characters = [
        chr(point)
        for point in range(0x110000)
        if unicodedata.category(chr(point)) not in ("Cn", "Co", "Cs")
        and point not in _CHANGED
    ]
    texts = [f"a{char}b {char} {char * 3}x" for char in characters]
    words = [reference_words(text, lower_case) for text in texts]
    known = {char for row in words for word in row for char in word}
    # Each character is a piece: ids spell the words.
    file, vocab = write_vocab(
        tmp_path, [*sorted(known), *(f"##{char}" for char in sorted(known))]
    )
    rows = tokenizer_class(file, lower_case)(texts).to_list()
    wrong = []
    for char, row, ids in zip(characters, words, rows, strict=True):
        spelled = [[word[0], *(f"##{c}" for c in word[1:])] for word in row]
        if ids != [vocab[piece] for word in spelled for piece in word]:
            wrong.append(char)
    assert not wrong


@pytest.mark.parametrize("lower_case", [True, False])
def test_words_around_the_limit(tmp_path, lower_case, tokenizer_class):
    file, vocab = write_vocab(
        tmp_path, [*"xeㅋก😀é한.中", "##x", "##e", "##é", "##한", "##😀"]
    )
    texts = [
        template.format(char * length)
        for char in "xé한ㅋก😀"
        for length in (66, 67, 199, 200, 201, 202, 900)
        for template in ("{}", "x {} x", "中{}.x", "{0} {0}", "\x00{0}-{0}\xad")
    ]
    ids = tokenizer_class(file, lower_case)(texts).to_list()
    assert ids == [reference_ids(text, lower_case, vocab) for text in texts]


def test_odd_pieces_of_a_vocabulary(tmp_path, tokenizer_class):
    pieces = "a b ##b ##. . .. a.b ##.b don't ' ##' ##'t # ### [a] 中 ##中 中b"
    file, vocab = write_vocab(tmp_path, pieces.split() + ["a b", "\u2028"])
    choose = random.Random(3)
    texts = [
        "".join(choose.choices("ab.'#[]中 dont\u2028", k=9))
        for _ in range(2000)
    ]
    ids = tokenizer_class(file)(texts).to_list()
    assert ids == [reference_ids(text, True, vocab) for text in texts]


@pytest.mark.parametrize("lower_case", [True, False])
def test_invalid_bytes_are_left_out(tmp_path, lower_case, tokenizer_class):
    choose = random.Random(2)
    good = [char.encode() for char in "aB É中한."]
    # Cut off, overlong, surrogates, beyond Unicode, invalid bytes.
    bad = "e4b8 f09f 80 c080 e08080 eda080 edbfbf f4908080 c1 f8 ff"
    bad = [*map(bytes.fromhex, bad.split())]
    texts = [
        b"".join(choose.choices(good + [choose.choice(bad)], k=9))
        for _ in range(1000)
    ]
    valid = [text.decode("utf-8", "ignore") for text in texts]
    file, vocab = vocab_of(valid, tmp_path, lower_case)
    ids = tokenizer_class(file, lower_case)(texts).to_list()
    assert ids == [reference_ids(text, lower_case, vocab) for text in valid]

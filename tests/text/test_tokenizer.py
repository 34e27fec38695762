import gzip
import json

import pytest
import tensorflow as tf
import tensorflow_text  # noqa: F401
from conftest import SPECIAL_TOKENS, WORDS

from keras_bert.errors import InputError
from keras_bert.text.tokenizer import BertTokenizer, PortableTokenizer
from keras_bert.text.tokenizer_settings import SpecialTokens, TokenizerSettings
from keras_bert.text.vocab import load_vocab
from keras_bert.text.words import clean_text, split_words


def _words(text, do_lower_case=True):
    settings = TokenizerSettings(do_lower_case)
    words, _ = split_words(clean_text(tf.constant([text]), settings), settings)
    return [word.decode() for word in words.to_list()[0]]


TOKENS = {
    "The QUICK fox": "the quick fox",
    "unaffable jumps.": "un ##aff ##able jump ##s .",
    "jumpeds": "jump ##ed ##s",
    "fox,dog!": "fox , dog !",
    "zebra": "[UNK]",
    "fóx": "fox",
    "  \t\n ": "",
    "": "",
    # Text does not become a special token.
    "[MASK]": "[UNK] [UNK] [UNK]",
}


def test_exact_ids(vocab_file):
    vocab = SPECIAL_TOKENS + WORDS
    assert BertTokenizer(vocab_file)([*TOKENS]).to_list() == [
        [vocab.index(token) for token in tokens.split()]
        for tokens in TOKENS.values()
    ]


def test_special_tokens_with_other_names(tmp_path):
    names = SpecialTokens("<pad>", "<unk>", "<s>", "</s>", "<s>mask")
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join(["fox", *reversed(names), "mask"]))
    tokenizer = BertTokenizer(file, special_tokens=names)
    assert (
        tokenizer.pad_id,
        tokenizer.unk_id,
        tokenizer.cls_id,
        tokenizer.sep_id,
        tokenizer.mask_id,
    ) == (5, 4, 3, 2, 1)
    # In a text, the name is a text.
    assert tokenizer(["dog<s>fox"]).to_list() == [[4, 4, 4, 4, 0]]
    assert tokenizer([]).to_list() == []
    with pytest.raises(ValueError, match=r"has no \[PAD\], .*SpecialTokens"):
        load_vocab(file)


def test_detokenize_joins_pieces_and_words(vocab_file):
    tokenizer = BertTokenizer(vocab_file)
    texts = ["the fox jumped , unaffable", "", "quick", "good . [UNK]"]
    ids = tf.ragged.constant(
        [[5, 9, 10, 12, 17, 20, 21, 22], [], [7], [25, 16, 1]], dtype=tf.int32
    )
    assert tokenizer.detokenize(ids).numpy().tolist() == [
        text.encode() for text in texts
    ]
    dataset = tf.data.Dataset.from_tensors(ids).map(tokenizer.detokenize)
    assert next(iter(dataset)).numpy()[0].decode() == texts[0]
    assert tokenizer.detokenize(ids[:0]).shape == [0]
    # A first piece keeps its ##.
    assert tokenizer.detokenize([[11, 9]]).numpy().tolist() == [b"##s fox"]


def test_cased_text_keeps_case_and_accents():
    assert _words("Élan Vital", do_lower_case=False) == ["Élan", "Vital"]
    assert _words("Élan Vital") == ["elan", "vital"]


def test_words_and_punctuation():
    for text, words in {
        "a\x00b\ufffdc\u200dd": "abcd",  # dropped, not split
        "a\tb\u3000c\u2028d": "a b c d",
        "ab中文cd": "ab 中 文 cd",
        "한국어": "한국어",
        "$5 a_b ‘x’ €": "$ 5 a _ b ‘ x ’ €",
    }.items():
        assert _words(text, do_lower_case=False) == words.split()


@pytest.mark.parametrize(
    ("key", "file", "lower_case"),
    [
        ("uncased", "bert-base-uncased", True),
        ("multilingual_cased", "bert-base-multilingual-cased", False),
    ],
)
@pytest.mark.parametrize("tokenizer_class", [BertTokenizer, PortableTokenizer])
def test_no_mismatch_with_the_reference(
    shared, key, file, lower_case, tokenizer_class
):
    with gzip.open(shared / "golden/tokenizer/expected_ids.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    tokenizer = tf.function(
        tokenizer_class(shared / f"data/vocab/{file}.vocab.txt", lower_case),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    assert len(rows) == 20_401
    for begin in range(0, len(rows), 2000):  # all at once need 900 MB
        some = rows[begin : begin + 2000]
        ids = tokenizer(tf.constant([row["text"] for row in some])).to_list()
        assert ids == [row[key] for row in some]


def test_a_repeated_piece_and_a_missing_file_are_named(tmp_path):
    file = tmp_path / "vocab.txt"
    with pytest.raises(FileNotFoundError, match="No vocabulary at"):
        load_vocab(file)
    file.write_text("\n".join([*SPECIAL_TOKENS, "fox", "dog", "fox"]))
    with pytest.raises(ValueError, match="'fox' on 2 lines"):
        load_vocab(file)


def test_the_bytes_of_a_vocabulary(tmp_path, vocab_file):
    file = tmp_path / "other.txt"
    text = vocab_file.read_text()
    for encoding in ("utf-8", "utf-8-sig"):
        file.write_bytes(text.replace("\n", "\r\n").encode(encoding))
        assert load_vocab(file) == load_vocab(vocab_file)
    for encoding in ("utf-16", "latin-1"):
        file.write_bytes((text + "\xe9t\xe9\n").encode(encoding))
        with pytest.raises(InputError, match="other.txt is not UTF-8"):
            load_vocab(file)


def test_word_pieces_in_place_of_a_file():
    pieces = [*SPECIAL_TOKENS, "fox"]
    assert BertTokenizer(pieces)(["fox"]).to_list() == [[5]]
    with pytest.raises(InputError, match="that was given has 'fox' on 2 lines"):
        BertTokenizer([*pieces, "fox"])


def test_what_is_not_a_list_of_strings_is_refused(vocab_file):
    tokenizer = BertTokenizer(vocab_file)
    for call in (tokenizer, tokenizer.tokenize_with_offsets):
        with pytest.raises(InputError, match="but a list of strings was"):
            call("the fox")

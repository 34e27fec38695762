import pytest

from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.vocab import SPECIAL_TOKENS
from keras_bert.text.vocab_learner import learn_vocab

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

import numpy as np

from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.word_splitter import WordSplitter


def test_words_are_split_as_by_the_tokenizer(tmp_path):
    letters = "abc"
    random = np.random.default_rng(3)

    def draw(longest):
        return "".join(
            random.choice(list(letters), random.integers(1, longest))
        )

    pieces = {draw(5) for _ in range(20)} | {"a", "b", "c"}
    inside = {f"##{draw(4)}" for _ in range(15)} | {"##a", "##b", "##c"}
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab += sorted(pieces) + sorted(inside)
    (tmp_path / "vocab.txt").write_text("\n".join(vocab))
    tokenizer = BertTokenizer(tmp_path / "vocab.txt")
    split = WordSplitter(vocab)
    words = sorted({draw(12) for _ in range(500)})
    for word, ids in zip(words, tokenizer(words).to_list(), strict=True):
        assert split(word) == tokenizer.tokens(ids), word


def test_a_character_without_a_piece_is_unknown_alone():
    split = WordSplitter(["a", "##a", "bee", "##bee", "#"])
    assert split("abeex") == ["a", "##bee", "[UNK]"]
    assert split("xbeea") == ["[UNK]", "##bee", "##a"]
    assert split("##beea") == ["##bee", "##a"]
    assert split("#") == ["#"]


def test_pieces_come_and_go():
    split = WordSplitter(["a", "##a"])
    split.add("aaaa")
    assert split("aaaaa") == ["aaaa", "##a"]
    split.remove("aaaa")
    assert split("aaa") == ["a", "##a", "##a"]

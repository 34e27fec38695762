import numpy as np

from keras_bert.text import new_pieces
from keras_bert.text.new_pieces import choose_new_pieces, split_word
from keras_bert.text.tokenizer import BertTokenizer

VOCAB = ["[UNK]", "un", "##like", "##ly", "like", "a", "##b", "##s"]


def test_the_piece_that_saves_the_most_tokens_comes_first():
    counts = {"unlikely": 10, "likely": 25, "unlike": 7, "a": 1000}
    # "likely" saves 25 tokens, "unlikely" 20, "##likely" 10, "unlike" 17 at
    # first, but 7 beside "unlikely".
    assert choose_new_pieces(counts, VOCAB, 9) == [
        "likely",
        "unlikely",
        "unlike",
    ]
    assert choose_new_pieces(counts, VOCAB, 2) == ["likely", "unlikely"]


def test_what_a_piece_saves_is_counted_beside_the_others():
    counts = {"unlikely": 10, "unlikelys": 9}
    # "unlikely" saves 38 tokens. Then "unlikelys" saves 9, and "##likely",
    # which alone saves 19, saves nothing.
    assert choose_new_pieces(counts, VOCAB, 9) == ["unlikely", "unlikelys"]


def test_rare_pieces_are_left_out():
    assert choose_new_pieces({"unlike": 4, "likely": 5}, VOCAB, 9) == ["likely"]


def test_missing_characters_make_words_readable_first():
    counts = {"aé": 9, "éa": 6, "aéa": 5, "xa": 2, "likely": 90}
    # "##é" is missing in 14 words, "##a" in 13, "é" in 6, "x" in too few.
    assert choose_new_pieces(counts, VOCAB, 16) == [
        "##é",
        "##a",
        "é",
        "likely",
        "aé",
        "éa",
        "aéa",
    ]
    # At most a quarter are characters.
    assert choose_new_pieces(counts, VOCAB, 4) == ["##é", "likely", "aé"]


def test_no_piece_makes_a_readable_word_unknown():
    vocab = ["[UNK]", "ab", "##c", "##cd"]
    # With "abc", the rest of "abcd" would be ##d, which is no piece.
    assert choose_new_pieces({"abc": 50, "abcd": 2}, vocab, 9) == []
    assert choose_new_pieces({"abc": 50}, vocab, 9) == ["abc"]


def test_the_order_of_the_words_does_not_matter():
    counts = {"likely": 9, "unlike": 9, "unlikely": 9, "unlikes": 9}
    backwards = dict(reversed(counts.items()))
    chosen = choose_new_pieces(counts, VOCAB, 3)
    assert chosen == choose_new_pieces(backwards, VOCAB, 3)


def test_long_words_and_the_rarest_words_decide_nothing(monkeypatch):
    monkeypatch.setattr(new_pieces, "_MAX_WORDS", 2)
    counts = {"a" + 200 * "b": 99, "likely": 8, "unlike": 7}
    assert choose_new_pieces(counts, VOCAB, 9) == ["likely"]


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
    words = sorted({draw(12) for _ in range(500)})
    for word, ids in zip(words, tokenizer(words).to_list(), strict=True):
        assert split_word(word, set(vocab)) == tokenizer.tokens(ids), word


def test_a_character_without_a_piece_is_unknown_alone():
    pieces = ["a", "##a", "bee", "##bee", "#"]
    assert split_word("abeex", pieces) == ["a", "##bee", "[UNK]"]
    assert split_word("xbeea", pieces) == ["[UNK]", "##bee", "##a"]
    assert split_word("##beea", pieces) == ["##bee", "##a"]
    assert split_word("#", pieces) == ["#"]

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.kinds.token_classification.words import (
    Tokens,
    WordStarts,
    window_words,
)
from keras_bert.text.tokenizer import BertTokenizer


@pytest.fixture
def tokenizer(vocab_file):
    return BertTokenizer(vocab_file)


def test_a_word_begins_with_its_first_piece(tokenizer):
    words = tf.ragged.constant(
        [["The", "unaffable", "fox."], [], ["\x01", "x" * 201, ""]]
    )
    tokens = Tokens.of_words(words, tokenizer)
    # [UNK] for a word of control characters, or a word that is too long.
    assert tokens.ids.to_list() == [[5, 20, 21, 22, 9, 16], [], [1, 1, 1]]
    assert tokens.begins_word.to_list() == [[1, 1, 0, 0, 1, 0], [], [1, 1, 1]]


@pytest.mark.parametrize(
    "name",
    [
        "modernbert",
        pytest.param("roberta", marks=pytest.mark.slow),
        pytest.param("xlm_roberta", marks=pytest.mark.slow),
    ],
)
def test_words_of_tokenizers_that_mark_spaces(shared, name):
    tokenizer = load_tokenizer(shared / "golden/other_tokenizers" / name)
    text = "Unbelievable (Wojciechowski)! He's here"
    words = ["Unbelievable", "(Wojciechowski)!", "He's", "here"]
    of_words = Tokens.of_words(tf.ragged.constant([words]), tokenizer)
    assert of_words.ids.to_list() == tokenizer([text]).to_list()

    def begins(word_starts, *texts):
        tokens = Tokens.of_texts(texts or [text], word_starts)
        starts = tokens.offsets.start_chars
        return tf.ragged.boolean_mask(starts, tokens.begins_word).to_list()

    starts = np.cumsum([0, *(len(x) + 1 for x in words[:-1])]).tolist()
    # The space before a word, which some tokenizers count to it, is left out.
    assert begins(WordStarts(tokenizer, "first")) == [starts]
    splits_marks = WordStarts(tokenizer, "words")
    (in_words,) = begins(splits_marks)
    assert {*starts, text.index("W"), text.index("'")} <= {*in_words}
    assert text.index(")") in in_words
    (of_tokens,) = begins(WordStarts(tokenizer, "simple"))
    assert len(in_words) < len(of_tokens)
    # A mark joins two words only if no space is beside it.
    joins_points = WordStarts(tokenizer, "words", ".")
    found = begins(joins_points, "Bob. John lives", "Bob.John lives")
    assert found == [[0, 3, 5, 10], [0, 9]]
    assert of_words.begins_word.values.numpy().sum() == len(words)
    in_text = of_words.of_text(splits_marks)
    assert in_text.begins_word.values.numpy().sum() == len(in_words)


@pytest.mark.slow
def test_a_piece_of_mpnet_with_the_mark_for_the_inside_begins_no_word(shared):
    tokenizer = load_tokenizer(shared / "golden/other_tokenizers/mpnet")
    text = "Unbelievable Wojciechowski (plays)"
    for grouping in ("first", "words"):
        tokens = Tokens.of_texts([text], WordStarts(tokenizer, grouping))
        pieces = np.array(tokenizer.tokens(tokens.ids.values))
        begins = tokens.begins_word.values.numpy()
        assert {*pieces[~begins]} == {"##j", "##cie", "##cho", "##wski"}


@pytest.mark.parametrize("max_seq_length", [4, 5, 6, 9, 14])
def test_each_word_is_read_in_the_window_with_the_most_around_it(
    tokenizer, max_seq_length
):
    size = max_seq_length - 2
    random = np.random.default_rng(3)
    lengths = [0, 1, size, size + 1, 2 * size, 2 * size + 1, 53]
    texts = [random.integers(5, 31, n).tolist() for n in lengths]
    begins = [(random.random(n) < 0.6).tolist() for n in lengths]
    ids, begins_word = (
        tf.RaggedTensor.from_row_lengths(sum(rows, start=[]), lengths)
        for rows in (texts, begins)
    )
    ids = tf.cast(ids, tf.int32)
    windows = window_words(
        Tokens(ids, tf.cast(begins_word, tf.bool), words=ids),
        tokenizer,
        max_seq_length,
    )
    numbers = windows.text_numbers.numpy()
    assert numbers.tolist() == sorted(numbers)
    # A short text is one window; a long one has a window each half size.
    step = size // 2
    counts = [1 + max(0, -((size - n) // step)) for n in lengths]
    assert np.bincount(numbers).tolist() == counts
    for number, (text, begin) in enumerate(zip(texts, begins, strict=True)):
        spans, read = [], []
        for window, i in enumerate(np.flatnonzero(numbers == number)):
            start = min(window * step, max(len(text) - size, 0))
            part = text[start : start + size]
            assert windows.input_ids[i].numpy().tolist() == [2, *part, 3]
            spans.append((start, start + len(part)))
            is_read = windows.is_read[i].numpy()
            assert not is_read[0] and not is_read[-1]
            read += [(start + x, window) for x in np.flatnonzero(is_read[1:-1])]
        # Every word is read once, in order.
        assert [place for place, _ in read] == np.flatnonzero(begin).tolist()
        for place, window in read:
            around = [min(place - a, b - 1 - place) for a, b in spans]
            assert around[window] == max(around)


@pytest.mark.slow
def test_the_same_in_a_graph(tokenizer):
    words = tf.ragged.constant([["the", "unaffable"] * 9, ["dog"]])

    @tf.function(autograph=False)
    def window(words):
        return window_words(Tokens.of_words(words, tokenizer), tokenizer, 7)

    eager = window_words(Tokens.of_words(words, tokenizer), tokenizer, 7)
    for a, b in zip(window(words), eager, strict=True):
        a, b = (getattr(x, "flat_values", x) for x in (a, b))
        np.testing.assert_array_equal(a, b)

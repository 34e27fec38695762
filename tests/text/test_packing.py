import numpy as np
import pytest
import tensorflow as tf
from conftest import write_vocab

from keras_bert.errors import InputError
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer


@pytest.fixture(scope="module")
def preprocessor(tmp_path_factory):
    """One for all tests: making its graphs takes most of the time."""
    vocab_file = write_vocab(tmp_path_factory.mktemp("vocab"))
    return BertPreprocessor(BertTokenizer(vocab_file), max_seq_length=9)


@pytest.mark.usefixtures("eagerly")
def test_exact_features_of_pairs(preprocessor):
    features = preprocessor(
        ["the fox jumped", "a film"], ["a dog", "very good movie!"]
    )
    expected = {
        "input_ids": [
            [2, 5, 9, 10, 12, 3, 6, 15, 3],
            [2, 6, 23, 3, 28, 25, 30, 18, 3],
        ],
        "input_mask": [[1] * 9, [1] * 9],
        "segment_ids": [
            [0, 0, 0, 0, 0, 0, 1, 1, 1],
            [0, 0, 0, 0, 1, 1, 1, 1, 1],
        ],
    }
    assert {k: v.numpy().tolist() for k, v in features.items()} == expected
    assert {v.dtype for v in features.values()} == {tf.int32}


@pytest.mark.usefixtures("eagerly")
def test_single_texts_are_cut_and_padded_to_the_longest(preprocessor):
    features = preprocessor(["fox", "the quick brown fox jumped a movie", ""])
    assert features["input_ids"].numpy().tolist() == [
        [2, 9, 3, 0, 0, 0, 0, 0, 0],
        [2, 5, 7, 8, 9, 10, 12, 6, 3],
        [2, 3, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert features["input_mask"].numpy().sum(1).tolist() == [3, 9, 2]
    assert preprocessor(["fox"])["input_ids"].shape == (1, 3)


def test_the_longer_of_a_pair_loses_first(preprocessor):
    """Equal to dropping one token after another, as the reference does."""
    random = np.random.default_rng(3)
    first = [list(range(10, 10 + n)) for n in random.integers(0, 10, 200)]
    second = [list(range(30, 30 + n)) for n in random.integers(0, 10, 200)]
    ids = [tf.ragged.constant(x, tf.int32) for x in (first, second)]
    packed = preprocessor.pack_ids(ids)
    expected, truncated = [], []
    for a, b in zip(first, second, strict=True):
        truncated.append(len(a) + len(b) > 6)
        while len(a) + len(b) > 6:
            (a if len(a) > len(b) else b).pop()
        expected.append([2, *a, 3, *b, 3])
    assert packed.features["input_ids"].to_list() == expected
    assert packed.truncated.numpy().tolist() == truncated


def test_a_too_short_length_is_refused(vocab_file):
    with pytest.raises(
        ValueError, match="max_seq_length is 3, but must be at least 4"
    ):
        BertPreprocessor(BertTokenizer(vocab_file), max_seq_length=3)


SINGLE = {
    "a list": ["a fox", "the"],
    "bytes": [b"a fox", b"the"],
    "an array": np.array(["a fox", "the"]),
    "an array of objects": np.array(["a fox", "the"], object),
    "a tensor": tf.constant(["a fox", "the"]),
}


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("texts", SINGLE.values(), ids=SINGLE)
def test_texts_in_any_form(preprocessor, texts):
    ids = [[2, 6, 9, 3], [2, 5, 3, 0]]
    assert preprocessor(texts)["input_ids"].numpy().tolist() == ids


@pytest.mark.usefixtures("eagerly")
def test_pairs_in_two_forms(preprocessor):
    texts = SINGLE["a list"]
    seconds = preprocessor.pack(texts, texts).features["segment_ids"]
    assert seconds.to_list() == [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1]]
    pairs = preprocessor.pack((texts, texts)).features["segment_ids"]
    assert pairs.to_list() == seconds.to_list()


@pytest.mark.usefixtures("eagerly")
def test_no_text_makes_no_row(preprocessor):
    assert preprocessor([])["input_ids"].shape == (0, 0)


@pytest.mark.slow
def test_lists_of_texts_share_a_graph(preprocessor):
    for texts in (["a"], ["a", "dog"]):  # graphs of one size and of any
        preprocessor(texts)
    before = preprocessor.pack_columns.experimental_get_tracing_count()
    for texts in (["the fox"], ["lazy", "dog", "jump"]):
        preprocessor(texts)
        preprocessor.pack(texts)
    after = preprocessor.pack_columns.experimental_get_tracing_count()
    assert after == before


# What a list of two strings in a list means is not known.
PAIRS = "for pairs, give the first and the second texts: preprocessor"
LABELS = r"write dataset.map\(lambda texts, labels: \(preprocessor\(texts\), l"
MISUSES = [
    ([("a", "fox")], f"Texts of shape \\(1, 2\\) were given.* {PAIRS}"),
    ([["a", "the"], ["fox", "dog"]], f"Texts of shape \\(2, 2\\).* {PAIRS}"),
    (np.array([["a", "fox"]], object), f"Texts of shape \\(1, 2\\).* {PAIRS}"),
    ([["a"], ["fox", "dog"]], f"Text 0 is \\['a'\\], but.* {PAIRS}"),
    (("a", "fox"), f"A tuple of 2 items was given, but .* {PAIRS}"),
    ((["a"], ["fox"], ["dog"]), f"A tuple of 3 items was given.* {PAIRS}"),
    ("the fox", "One string was given, but a list .*; put it into a list"),
    (b"the fox", "One string was given"),
    (tf.constant("the fox"), "One string was given"),
    (None, "A NoneType was given, but a list of strings was expected"),
    ([None], "Text 0 is None, but a list of strings was expected"),
    (["a", float("nan")], "Text 1 is nan"),
    (np.array(["a", None], object), "Text 1 is None"),
    (np.array(["a", np.nan], object), "Text 1 is nan"),
    (["a", 1], "Text 1 is 1, but a list of strings"),
    (np.array([1, 2]), f"Numbers of type int64 were given.* {LABELS}"),
    (map(str, ["a"]), r"A map was given, .*; write list\(texts\)"),
    ({"text": ["a"]}, "A dict was given"),
    ({"a"}, "A set was given"),
    (["\ud800"], "A text is not valid Unicode"),
    (tf.ragged.constant([["a"], ["a", "b"]]), "A RaggedTensor was given"),
]


@pytest.mark.parametrize(("texts", "message"), MISUSES)
def test_what_is_not_texts_is_refused(preprocessor, texts, message):
    with pytest.raises(InputError, match=message):
        preprocessor(texts)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["a", "the"], ["fox"], "2 first texts and 1 second texts were given"),
        (["a", "the"], "fox", "One string was given"),
        (["a", "the"], [1, 0], "Text 0 is 1"),
        ((["a"], ["fox"]), [1], f"Two columns of texts and a.*; .*{LABELS}"),
    ],
)
def test_columns_that_are_not_pairs_are_refused(
    preprocessor, first, second, message
):
    with pytest.raises(InputError, match=message):
        preprocessor(first, second)


@pytest.mark.slow
@pytest.mark.usefixtures("eagerly")
def test_datasets_of_pairs(preprocessor):
    """With labels as in keras-hub's examples: ((first, second), label)."""
    pairs = ["the fox", "a"], ["dog", "very good movie!"]
    expected = preprocessor(*pairs)
    without_labels = tf.data.Dataset.from_tensors(pairs).map(preprocessor)
    dataset = tf.data.Dataset.from_tensor_slices((pairs, [1, 0]))
    mapped = dataset.batch(2).map(lambda x, y: (preprocessor(x), y))
    for features in next(iter(without_labels)), next(iter(mapped))[0]:
        for name, value in features.items():
            np.testing.assert_array_equal(value, expected[name])
    # tf.data adds its own words to the message.
    with pytest.raises(Exception, match=LABELS):
        dataset.batch(2).map(preprocessor)
    with pytest.raises(Exception, match="One string .* call batch before map"):
        dataset.map(lambda x, y: (preprocessor(x), y))
    labelled = tf.data.Dataset.from_tensors((pairs[0], [1, 0]))
    with pytest.raises(Exception, match=f"Numbers of type int32.*{LABELS}"):
        labelled.map(preprocessor)


@pytest.mark.parametrize(
    "settings",
    [
        {"doc_stride": -1},
        {"doc_stride": 2.5},
        {"doc_stride": 4, "max_num_windows": -1},
    ],
    ids=str,
)
def test_wrong_windows_are_refused(vocab_file, settings):
    with pytest.raises(InputError, match="must be (at least 0|a whole number)"):
        BertPreprocessor(BertTokenizer(vocab_file), 16, **settings)


def test_pairs_have_no_windows(vocab_file):
    preprocess = BertPreprocessor(BertTokenizer(vocab_file), 16, doc_stride=4)
    with pytest.raises(InputError, match="Pairs are not split into"):
        preprocess(["a"], ["b"])


def test_which_numbers_are_read(vocab_file):
    tokenizer = BertTokenizer(vocab_file)
    assert tokenizer.tokens(i for i in [2, 0]) == tokenizer.tokens([2, 0])
    for number in (-1, 10**6):
        with pytest.raises(InputError, match=f"Id {number} is not in the voc"):
            tokenizer.tokens([number])
    BertPreprocessor(tokenizer, np.int64(16), doc_stride=np.int64(4))

"""Lists are tokenized and packed as TensorFlow's strings are."""

import sys

import numpy as np
import pytest

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.errors import InputError
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.without_tensorflow import ListPreprocessor, ListTokenizer

TEXTS = ["The Unaffable fox jumps!", "", "a [MASK] film Élan 狐 " * 3, "dog"]
OTHERS = ["a lazy dog", "the fox . , !" * 3, "", "was good"]


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_ids_and_what_a_tokenizer_says(vocab_file, do_lower_case):
    ours = ListTokenizer(vocab_file, do_lower_case)
    other = BertTokenizer(vocab_file, do_lower_case)
    ids = ours(TEXTS)
    assert ids == other(TEXTS).to_list()
    assert ours.tokens(ids[0]) == other.tokens(ids[0])
    assert ours.detokenize(ids) == [
        text.decode() for text in other.detokenize(other(TEXTS)).numpy()
    ]
    assert ours.sidecars(16) == other.sidecars(16)
    assert (ours.vocab_size, ours.pad_id, ours.mask_id) == (31, 0, 4)
    pair = ours.library.encode("dog", "dog")
    assert pair.ids == [2, 15, 3, 15, 3]
    assert pair.type_ids == [0, 0, 0, 1, 1]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("seq_length", [4, 5, 8, 9, 40])
@pytest.mark.parametrize("second", [None, OTHERS], ids=["texts", "pairs"])
def test_features(vocab_file, seq_length, second):
    ours = ListPreprocessor(ListTokenizer(vocab_file), seq_length)
    other = BertPreprocessor(BertTokenizer(vocab_file), seq_length)
    features = ours(TEXTS, second)
    expected = other(TEXTS, second)
    assert features.keys() == expected.keys()
    for name, values in features.items():
        assert values.dtype == np.int32
        np.testing.assert_array_equal(values, expected[name], name)


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("segment", [0, 1])
def test_pairs_with_two_separators(vocab_file, segment):
    options = {"pair_separators": 2, "second_segment": segment}
    ours = ListPreprocessor(ListTokenizer(vocab_file, **options), 9)
    other = BertPreprocessor(BertTokenizer(vocab_file, **options), 9)
    expected = other(TEXTS, OTHERS)
    for name, values in ours(TEXTS, OTHERS).items():
        np.testing.assert_array_equal(values, expected[name], name)


def test_what_is_refused(vocab_file):
    tokenizer = ListTokenizer(vocab_file)
    with pytest.raises(InputError, match="one string, 'a fox'; give a list"):
        tokenizer("a fox")
    with pytest.raises(InputError, match="4 first texts and 1 second texts"):
        ListPreprocessor(tokenizer)(TEXTS, ["a"])
    with pytest.raises(InputError, match="is 3, but must be at least 4"):
        ListPreprocessor(tokenizer, 3)


def test_it_is_taken_where_tensorflow_is_not_installed(vocab_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    assert type(load_tokenizer(vocab_file=vocab_file)) is ListTokenizer
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InputError, match="pip install tokenizers"):
        load_tokenizer(vocab_file=vocab_file)

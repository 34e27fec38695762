import random

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.pretraining.write import documents_to_pairs
from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.documents_to_pairs import (
    Corpus,
    _truncate,
    corpus_maker,
    draw_rows,
    split_sentences,
)
from keras_bert.text.tokenizer import BertTokenizer


@pytest.mark.parametrize("characters_per_call", [1, 10**6])
def test_empty_sentences_and_documents_are_left_out(
    vocab_file, monkeypatch, characters_per_call
):
    monkeypatch.setattr(
        documents_to_pairs, "_CHARACTERS_PER_CALL", characters_per_call
    )
    make = corpus_maker(BertTokenizer(vocab_file))
    corpus = make(["the fox\n \na dog .", "\x01", "film\n\x01"])
    assert corpus.ids.tolist() == [5, 9, 6, 15, 16, 23]
    assert corpus.sentence_ends.tolist() == [0, 2, 5, 6]
    assert corpus.document_ends.tolist() == [0, 2, 3]


def test_a_long_sentence_counts_as_several(vocab_file, monkeypatch):
    monkeypatch.setattr(documents_to_pairs, "_MAX_SENTENCE_LENGTH", 3)
    make = corpus_maker(BertTokenizer(vocab_file))
    corpus = make(["fox", "the quick brown fox over a lazy dog\nthe lazy dog"])
    assert corpus.sentence_ends.tolist() == [0, 1, 4, 7, 9, 12]
    assert corpus.document_ends.tolist() == [0, 1, 5]


SENTENCES = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ('"Why?" He left... "So!" It', ['"Why?"', "He left...", '"So!"', "It"]),
    ("Mr. and Mrs. Smith, J. R. Doe.", ["Mr. and Mrs. Smith, J. R. Doe."]),
    ("It is 3.5 m. long, i.e. short", ["It is 3.5 m. long, i.e. short"]),
    ("A line\nthat goes on.\n \nA title\n\nText", ["A line that goes on."]
     + ["A title", "Text"]),
    ("今日は。「はい。」と", ["今日は。", "「はい。」", "と"]),
    ("Привет. Как дела? Да.", ["Привет.", "Как дела?", "Да."]),
    ("यह है। दूसरा है।", ["यह है।", "दूसरा है।"]),
    ("그렇다. 아니다.", ["그렇다.", "아니다."]),
    (" \n\n ", []),
]  # fmt: skip


def test_sentences():
    texts = [text for text, _ in SENTENCES]
    expected = [[s.encode() for s in found] for _, found in SENTENCES]
    assert split_sentences(tf.constant(texts)).to_list() == expected
    (mapped,) = tf.data.Dataset.from_tensors(texts).map(split_sentences)
    assert mapped.to_list() == expected


def test_no_character_is_lost_by_splitting():
    choice = np.random.default_rng(0).choice
    pieces = list("aB. !?。'\"()1\n") + ["Mr. ", "e.g. ", "। "]
    texts = ["".join(choice(pieces, 80)) for _ in range(50)]
    for text, found in zip(
        texts, split_sentences(tf.constant(texts)).to_list(), strict=True
    ):
        joined = b"".join(found).decode()
        assert "".join(joined.split()) == "".join(text.split())


def _corpus(num_documents=40, seed=1, longest=30):
    """Each id is its position, so a segment of ids shows its origin."""
    generator = np.random.default_rng(seed)
    document_ends = np.cumsum([0, *generator.integers(1, 25, num_documents)])
    lengths = generator.integers(1, longest, document_ends[-1])
    sentence_ends = np.cumsum([0, *lengths])
    return Corpus(np.arange(sentence_ends[-1]), sentence_ends, document_ends)


def _draw(corpus, seed=3, **kwargs):
    config = PretrainingDataConfig(
        **{"max_seq_length": 64, "dupe_factor": 1} | kwargs
    )
    return draw_rows(corpus, config, random.Random(seed))


def _document_of(corpus, place):
    sentence = np.searchsorted(corpus.sentence_ends, place, "right") - 1
    return np.searchsorted(corpus.document_ends, sentence, "right") - 1


def test_each_token_is_in_a_first_segment_or_an_actual_second():
    """If no pair is cut, each token of the text is used once."""
    corpus = _corpus(longest=4)
    pairs = _draw(corpus, short_seq_prob=0.0, max_seq_length=5000)
    count = np.zeros(len(corpus.ids), int)
    for begin, end, second_begin, second_end, is_random in pairs:
        count[begin:end] += 1
        if not is_random:
            assert second_begin == end
            count[second_begin:second_end] += 1
    assert (count == 1).all()


def test_segments_begin_and_end_as_sentences_do():
    corpus = _corpus(longest=4)
    pairs = _draw(corpus, max_seq_length=100)
    sums = (pairs[:, [1, 3]] - pairs[:, [0, 2]]).sum(axis=1)
    whole = pairs[sums < 97]  # nothing was cut off these
    assert len(whole) > 50
    assert np.isin(whole[:, :4], corpus.sentence_ends).all()


def test_the_second_is_of_the_same_document_or_another():
    corpus = _corpus()
    pairs = _draw(corpus, dupe_factor=5)
    is_random = pairs[:, 4] > 0
    first, second = (_document_of(corpus, pairs[:, i]) for i in (0, 2))
    assert (second[~is_random] == first[~is_random]).all()
    assert (second[is_random] != first[is_random]).all()
    assert set(second[is_random]) == set(range(40))
    assert 0.45 < is_random.mean() < 0.6


def test_with_one_document_the_random_one_is_of_it_too():
    pairs = _draw(_corpus(num_documents=1), dupe_factor=3)
    assert 0 < pairs[:, 4].sum() < len(pairs)


def test_a_single_sentence_is_followed_by_a_random_one():
    corpus = Corpus(np.arange(9), np.array([0, 4, 9]), np.array([0, 1, 2]))
    pairs = _draw(corpus, short_seq_prob=0.0)
    assert pairs.tolist() == [[0, 4, 4, 9, 1], [4, 9, 0, 4, 1]]


def test_all_pairs_of_a_document_and_pass_have_one_target_length():
    """As in google-research/bert, create_instances_from_document."""
    # Sentences of one token, so that a pair meets its target exactly.
    corpus = Corpus(
        np.arange(90_000), np.arange(90_001), np.arange(0, 90_001, 900)
    )
    pairs = _draw(corpus, short_seq_prob=0.5, dupe_factor=4)
    lengths = (pairs[:, [1, 3]] - pairs[:, [0, 2]]).sum(axis=1)
    assert lengths.max() == 61 and lengths.min() >= 2
    documents = _document_of(corpus, pairs[:, 0])
    passes = np.cumsum(np.diff(documents, prepend=0) < 0)
    # A document may end before a pair is full.
    is_full = corpus.document_ends[documents + 1] - pairs[:, 0] > 61
    is_full &= pairs[:, 4] == 0
    targets = np.array(
        [
            (4 * document + number, length)
            for document, number, length in {
                *zip(
                    documents[is_full],
                    passes[is_full],
                    lengths[is_full],
                    strict=True,
                )
            }
        ]
    )
    assert len(set(targets[:, 0])) == len(targets) > 390
    # A half of 400 draws is uniform from 2 to 61: a standard error of 0.025.
    assert abs((targets[:, 1] < 61).mean() - 0.5 * 59 / 60) < 0.1
    assert abs((targets[:, 1] < 32).mean() - 0.5 * 30 / 60) < 0.1


def test_truncation_is_popping_one_token_after_the_other():
    generator = np.random.default_rng(0)
    for seed in range(200):
        lengths = generator.integers(1, 40, 2)
        budget = int(generator.integers(2, 50))
        expected = lengths.tolist()
        while sum(expected) > budget:
            expected[0 if expected[0] > expected[1] else 1] -= 1
        begin, end, second_begin, second_end = _truncate(
            (100, 100 + lengths[0]),
            (500, 500 + lengths[1]),
            budget,
            random.Random(seed),
        )
        assert [end - begin, second_end - second_begin] == expected
        assert 100 <= begin and end <= 100 + lengths[0]
        assert 500 <= second_begin and second_end <= 500 + lengths[1]


def test_tokens_are_lost_at_both_ends_alike():
    generator = random.Random(0)
    fronts = [
        _truncate((0, 30), (50, 51), 21, generator)[0] for _ in range(900)
    ]
    # Of 10 that are lost, 5 in the mean; standard deviation 1.6 / 30.
    assert abs(np.mean(fronts) - 5) < 0.2
    assert min(fronts) <= 1 and max(fronts) >= 9


def test_a_seed_draws_the_same_pairs():
    corpus = _corpus()
    first, again, other = (_draw(corpus, seed=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.pretraining.write import documents_to_ids as corpus_module
from keras_bert.pretraining.write.documents_to_ids import (
    corpus_maker,
    split_lines,
    split_sentences,
)
from keras_bert.text.tokenizer import BertTokenizer


@pytest.mark.parametrize("characters_per_call", [1, 10**6])
def test_empty_sentences_and_documents_are_left_out(
    vocab_file, monkeypatch, characters_per_call
):
    monkeypatch.setattr(
        corpus_module, "_CHARACTERS_PER_CALL", characters_per_call
    )
    make = corpus_maker(BertTokenizer(vocab_file), split_lines)
    corpus = make(["the fox\n \na dog .", "\x01", "film\n\x01"])
    assert corpus.ids.tolist() == [5, 9, 6, 15, 16, 23]
    assert corpus.sentence_ends.tolist() == [0, 2, 5, 6]
    assert corpus.document_ends.tolist() == [0, 2, 3]


def test_a_long_sentence_counts_as_several(vocab_file, monkeypatch):
    monkeypatch.setattr(corpus_module, "_MAX_SENTENCE_LENGTH", 3)
    make = corpus_maker(BertTokenizer(vocab_file), split_lines)
    corpus = make(["fox", "the quick brown fox over a lazy dog\nthe lazy dog"])
    assert corpus.sentence_ends.tolist() == [0, 1, 4, 7, 9, 12]
    assert corpus.document_ends.tolist() == [0, 1, 5]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
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
    ],
)  # fmt: skip
def test_sentences(text, sentences):
    eager = split_sentences(tf.constant([text, "One. Two."]))
    expected = [[s.encode() for s in sentences], [b"One.", b"Two."]]
    assert eager.to_list() == expected
    dataset = tf.data.Dataset.from_tensors([text, "One. Two."])
    (mapped,) = dataset.map(split_sentences)
    assert mapped.to_list() == expected


def test_no_character_is_lost_by_splitting():
    random = np.random.default_rng(0)
    pieces = list("aB. !?。'\"()1\n") + ["Mr. ", "e.g. ", "। "]
    texts = ["".join(random.choice(pieces, 80)) for _ in range(50)]
    for text, found in zip(
        texts, split_sentences(tf.constant(texts)).to_list(), strict=True
    ):
        joined = b"".join(found).decode()
        assert "".join(joined.split()) == "".join(text.split())

"""The library `tokenizers` and this package give the same ids."""

import gzip
import json

import pytest
from tokenizers import Tokenizer

from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_json import tokenizer_json


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("do_lower_case", [True, False])
def test_ids_of_texts_and_pairs(vocab_file, do_lower_case):
    tokenizer = BertTokenizer(vocab_file, do_lower_case)
    peer = Tokenizer.from_str(tokenizer_json(tokenizer))
    pairs = [
        ("The Unaffable fox jumps!", "a lazy dog"),
        ("a [MASK] film", "Élan 狐"),
    ]
    preprocessor = BertPreprocessor(tokenizer, 30)
    packed = preprocessor.pack(*zip(*pairs, strict=True))
    encoded = peer.encode_batch(pairs)
    assert [x.ids for x in encoded] == packed.features["input_ids"].to_list()
    assert [x.type_ids for x in encoded] == (
        packed.features["segment_ids"].to_list()
    )


@pytest.mark.parametrize(
    ("vocab", "column", "num_different"),
    [
        pytest.param(
            *("bert-base-uncased", "uncased", 53), marks=pytest.mark.slow
        ),
        ("bert-base-multilingual-cased", "multilingual_cased", 54),
    ],
)
def test_ids_of_golden_texts(shared, vocab, column, num_different):
    """All that differ are lines of random characters."""
    vocab_file = shared / f"data/vocab/{vocab}.vocab.txt"
    tokenizer = BertTokenizer(vocab_file, column == "uncased")
    peer = Tokenizer.from_str(tokenizer_json(tokenizer))
    with gzip.open(shared / "golden/tokenizer/expected_ids.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    encoded = peer.encode_batch_fast(
        [row["text"] for row in rows], add_special_tokens=False
    )
    differing = [
        row["text"]
        for row, x in zip(rows, encoded, strict=True)
        if x.ids != row[column]
    ]
    assert len(differing) == num_different
    assert max(map(len, differing)) < 60

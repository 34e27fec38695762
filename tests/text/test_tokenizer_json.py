"""The library `tokenizers` and this package give the same ids."""

import gzip
import json

import pytest
from tokenizers import Tokenizer

from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_json import tokenizer_json


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

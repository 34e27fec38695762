"""What transformers' AutoTokenizer gives for folders is what these say here."""

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.errors import InputError
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.without_tensorflow import ListPreprocessor, ListTokenizer

# Folders with a tokenizer that this package does not have.
REFUSED = {
    "no_clean_text": "tokenizer.json has clean_text: False, which",
    "no_final_sep": "tokenizer.json has post_processor: {'pair':",
    "other_prefix": "has continuing_subword_prefix: '@@', which",
}
_SPECIAL = {"[SEP]", "[MASK]"}


def _both(folder, **options):
    """Returns the tokenizer in the graph, and the one without TensorFlow."""
    tokenizer = load_tokenizer(folder, **options)
    return tokenizer, ListTokenizer.from_settings(
        tokenizer.pieces, tokenizer.settings
    )


def _located(tokenizer, texts):
    """Returns the ids of texts, and their places, [id, start, end]."""
    if isinstance(tokenizer, ListTokenizer):
        return [
            [[i, *place] for i, place in zip(x.ids, x.offsets, strict=True)]
            for x in tokenizer.library.encode_batch(
                texts, add_special_tokens=False
            )
        ]
    found = tokenizer.tokenize_with_offsets(texts)
    assert found.ids.to_list() == tokenizer(texts).to_list()
    columns = (found.ids, found.start_chars, found.end_chars)
    return tf.stack(columns, axis=2).to_list()


def _places(row):
    """Returns the tokens of each text of a row, [id, start, end]."""
    texts = [[]]
    for id_, place in list(zip(row["ids"], row["offsets"], strict=True))[1:]:
        if place == [0, 0]:  # [SEP]
            texts.append([])
        else:
            texts[-1].append([id_, *place])
    return texts[:-1]


@pytest.mark.usefixtures("eagerly")
@pytest.mark.parametrize("in_text", [True, False])
def test_ids_segments_and_offsets_of_transformers(shared, in_text):
    folders = sorted((shared / "golden/tokenizer_settings").iterdir())
    assert len(folders) == 27
    for folder in folders if in_text else folders[:4]:
        if message := REFUSED.get(folder.name):
            with pytest.raises(InputError) as error:
                load_tokenizer(folder)
            assert message in str(error.value)
            continue
        tokenizers = _both(folder, special_tokens_in_text=in_text)
        values = json.loads((folder / "expected.json").read_text())
        for key in ("texts", "pairs"):
            rows = [
                row
                for row in values[key]
                if in_text
                or not {"[SEP]", "[MASK]"} & {*row["input"][0].split()}
            ]
            columns = [*zip(*(row["input"] for row in rows), strict=True)]
            for tokenizer in tokenizers:
                _check(tokenizer, rows, [list(x) for x in columns])


def _check(tokenizer, rows, columns):
    is_list = isinstance(tokenizer, ListTokenizer)
    packer = (ListPreprocessor if is_list else BertPreprocessor)(tokenizer, 16)
    features = packer(*columns)
    for i, row in enumerate(rows):
        length = len(row["ids"])
        for name in ("input_ids", "segment_ids"):
            found = np.array(features[name][i])[:length].tolist()
            expected = row["ids" if name == "input_ids" else "segments"]
            assert found == expected, row["input"]
        assert not np.array(features["input_mask"][i])[length:].any()
    expected = [*zip(*map(_places, rows), strict=True)]
    for texts, places in zip(columns, expected, strict=True):
        for found, place in zip(
            _located(tokenizer, texts), places, strict=True
        ):
            cut = len(found) - len(place)
            if tokenizer.settings.truncation_side == "left":
                assert found[cut:] == place
            else:
                assert found[: len(place)] == place

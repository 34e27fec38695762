"""Pieces are added to SentencePiece and to byte-level BPE."""

import dataclasses
import json

import numpy as np
import pytest
import tokenizers
from safetensors.numpy import load_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.checkpoints.resize.vocab import (
    ExtendVocabConfig,
    extend_vocab,
)
from keras_bert.errors import InputError
from keras_bert.text.joined_pieces import join_words
from keras_bert.text.tokenizer_json import tokenizer_json


@pytest.fixture(
    scope="module",
    params=["roberta", pytest.param("xlm_roberta", marks=pytest.mark.slow)],
)
def pretrained(request, config, shared, tmp_path_factory):
    """A checkpoint's folder and its tokenizer."""
    source = shared / "golden/other_tokenizers" / request.param
    tokenizer = load_tokenizer(source)
    small = dataclasses.replace(config, vocab_size=tokenizer.vocab_size)
    folder = tmp_path_factory.mktemp("m") / "pretrained"
    write_checkpoint(folder, small)
    (folder / "vocab.txt").unlink()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_bytes((source / name).read_bytes())
    return folder, tokenizer


def _pieces(tokenizer, text):
    return [tokenizer.vocab[i] for i in tokenizer([text]).to_list()[0]]


@pytest.mark.slow
def test_reviews_become_shorter(pretrained, reviews, tmp_path):
    folder, old = pretrained
    reviews = reviews[:2000]
    figures = extend_vocab(
        folder,
        tmp_path / "new",
        reviews,
        config=ExtendVocabConfig(num_new_pieces=100),
    )
    added = figures["vocab_size_after"] - figures["vocab_size_before"]
    assert 90 < added <= 100
    before, after = (
        figures[f"tokens_per_word_{x}"] for x in ("before", "after")
    )
    assert after < 0.97 * before
    assert figures["unknown_words_before"] == figures["unknown_words_after"]
    # The ids are those of the package tokenizers, and nothing is lost.
    new = load_tokenizer(tmp_path / "new")
    assert new.vocab[: len(old.vocab)] == old.vocab
    peer = tokenizers.Tokenizer.from_file(
        str(tmp_path / "new" / "tokenizer.json")
    )
    held_out = [line.strip() for line in reviews[19::20]]
    ids = new(held_out).to_list()
    expected = peer.encode_batch(held_out, add_special_tokens=False)
    assert ids == [x.ids for x in expected]
    assert new.detokenize(new(held_out)).numpy().tolist() == (
        old.detokenize(old(held_out)).numpy().tolist()
    )


def test_a_word_becomes_one_piece(pretrained, tmp_path):
    folder, old = pretrained
    extend_vocab(folder, tmp_path / "new", words=["keratinocyte"])
    new = load_tokenizer(tmp_path / "new")
    text = "the keratinocyte is there"
    parts = _pieces(old, text)
    pieces = _pieces(new, text)
    assert len(pieces) == 4 and pieces[1][1:] == "keratinocyte"
    assert pieces[0] == parts[0] and pieces[2:] == parts[-2:]
    before, after = (
        load_file(x / "model.safetensors")["embeddings/word_embeddings"]
        for x in (folder, tmp_path / "new")
    )
    ids = [old.vocab.index(x) for x in parts[1:-2]]
    row = after[new.vocab.index(pieces[1])]
    np.testing.assert_allclose(row, before[ids].mean(0), rtol=1e-6)
    np.testing.assert_array_equal(after[: len(old.vocab)], before)
    # All other texts are read as before.
    for text in ("keratin and the cytes", "kera tino cyte", "Keratinocyte"):
        assert _pieces(new, text) == _pieces(old, text)


def _with_added_token(folder, new):
    """Returns the tokenizer in `folder`, with an added token after all ids."""
    values = json.loads((folder / "tokenizer.json").read_text())
    size = len(values["model"]["vocab"])
    (mask,) = [x for x in values["added_tokens"] if x["content"] == "<mask>"]
    added = mask | {"content": "cov-19", "id": size, "special": False}
    values["added_tokens"].append(added)
    (new / "tokenizer.json").write_text(json.dumps(values))
    return load_tokenizer(vocab_file=new / "tokenizer.json")


def test_added_tokens_keep_their_ids(pretrained, tmp_path):
    old = _with_added_token(pretrained[0], tmp_path)
    text = "the cov-19 foxdog"
    if old.json.model["type"] == "BPE":
        joins = join_words(old, ["foxdog"], in_pairs=True)
        values = old.json.with_joins(joins, old.vocab_size)
        new = old.from_settings(values, old.settings)
        assert _pieces(new, text)[-1] == "\u0120foxdog"
    else:
        used = {*_pieces(old, text), "<s>", "<pad>", "</s>", "<unk>", "<mask>"}
        kept = [x for x in old.vocab if x in used | old.json.pieces_to_keep]
        new = old.with_vocab(tuple(kept))
        assert new.vocab_size < 20
        assert _pieces(new, text) == _pieces(old, text)
    # The package tokenizers gives an added token the next free id.
    peer = tokenizers.Tokenizer.from_str(
        tokenizer_json(new, new.found_in_text())
    )
    ids = peer.encode(text, add_special_tokens=False).ids
    assert new([text]).to_list() == [ids]


def test_what_is_not_a_word(pretrained):
    _, tokenizer = pretrained
    is_bpe = tokenizer.json.model["type"] == "BPE"
    for word in ("two words", "it's", "a1"):
        with pytest.raises(InputError, match="is not one word; give one word"):
            join_words(tokenizer, [word], in_pairs=is_bpe)
    if not is_bpe:  # BPE knows all bytes
        with pytest.raises(InputError, match="the tokenizer does not know"):
            join_words(tokenizer, ["keratin", "\u16a0\u16a2"], in_pairs=False)
    assert join_words(tokenizer, ["the"], in_pairs=is_bpe) == {}

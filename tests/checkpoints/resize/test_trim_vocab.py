"""Kept pieces keep their rows, and the text keeps its pieces."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.checkpoints.resize.vocab import TrimVocabConfig, trim_vocab
from keras_bert.config import BertConfig
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import AddedToken, TokenizerSettings

VOCAB = """
    [PAD] [unused0] [UNK] [CLS] [SEP] [MASK] a b ##a ##b ab aba ##ab ##ba abab
    . the ##c fox
""".split()
TEXTS = ["the abab fox", "the ababa aba .", "the ab"]


@pytest.fixture(scope="module")
def pretrained(config, tmp_path_factory):
    folder = write_checkpoint(
        tmp_path_factory.mktemp("m") / "pretrained",
        BertConfig(**{**config.to_dict(), "vocab_size": len(VOCAB)}),
        build=build_pretraining_model,
    )
    (folder / "vocab.txt").write_text("\n".join(VOCAB))
    return folder


def _tokens(folder, texts):
    tokenizer = BertTokenizer(folder / "vocab.txt")
    return [tokenizer.tokens(ids) for ids in tokenizer(texts).to_list()]


def test_the_text_keeps_its_pieces_and_they_keep_their_rows(
    pretrained, tmp_path
):
    figures = trim_vocab(pretrained, tmp_path / "new", TEXTS)
    vocab = (tmp_path / "new" / "vocab.txt").read_text().splitlines()
    assert " ".join(vocab) == (
        "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##a ##b ab aba abab . the ##c fox"
    )
    assert _tokens(tmp_path / "new", TEXTS) == _tokens(pretrained, TEXTS)
    kept = [VOCAB.index(piece) for piece in vocab]
    old = load_file(pretrained / "model.safetensors")
    new = load_file(tmp_path / "new" / "model.safetensors")
    for path, array in old.items():
        is_by_piece = len(array) == len(VOCAB)
        np.testing.assert_array_equal(
            new[path], array[kept] if is_by_piece else array, path
        )
    assert Checkpoint.of(tmp_path / "new").config.vocab_size == 16
    assert figures == {"vocab_size_before": 19, "vocab_size_after": 16}
    settings = json.loads(
        (tmp_path / "new" / "tokenizer_config.json").read_text()
    )
    assert settings["do_lower_case"] and settings["model_max_length"] == 16


def test_an_added_token_does_not_become_a_word_piece(tmp_path, config):
    folder = write_checkpoint(
        tmp_path / "pretrained",
        dataclasses.replace(config, vocab_size=len(VOCAB) + 1),
    )
    (folder / "vocab.txt").write_text("\n".join(VOCAB))
    added = AddedToken("abba", len(VOCAB), single_word=True, normalized=False)
    settings = TokenizerSettings(added_tokens=(added,))
    (folder / "tokenizer_config.json").write_text(settings.to_json(16))
    texts = ["the abba abbab ABBA"]
    trim_vocab(folder, tmp_path / "new", texts)
    old, new = map(load_tokenizer, (folder, tmp_path / "new"))
    before, after = (x.tokens(x(texts)[0]) for x in (old, new))
    assert after == before
    assert after == "the abba ab ##ba ##b ab ##ba".split()


def test_other_texts_stay_readable_only_with_characters(pretrained, tmp_path):
    text = ["bab abac aab"]
    assert _tokens(pretrained, text) == [
        ["b", "##ab", "aba", "##c", "a", "##ab"]
    ]
    trim_vocab(pretrained, tmp_path / "with", TEXTS)
    assert _tokens(tmp_path / "with", text) == [
        ["b", "##a", "##b", "aba", "##c", "a", "##a", "##b"]
    ]
    trim_vocab(
        pretrained,
        tmp_path / "without",
        TEXTS,
        config=TrimVocabConfig(keep_characters=False),
    )
    assert _tokens(tmp_path / "without", text) == [["[UNK]"] * 3]
    # The text itself is read as before.
    assert _tokens(tmp_path / "without", TEXTS) == _tokens(pretrained, TEXTS)


def test_characters_that_the_text_does_not_have(pretrained, tmp_path):
    def pieces(name, **settings):
        config = TrimVocabConfig(vocab_size=11, **settings)
        trim_vocab(pretrained, tmp_path / name, ["a the ab"], config=config)
        return (tmp_path / name / "vocab.txt").read_text().split()[5:]

    assert pieces("all") == "a b ##a ##b . ##c".split()
    assert pieces("seen", keep_unseen_characters=False) == (
        "a b ##a ##b ab the".split()
    )


def test_words_with_frequent_pieces_are_split_as_before(pretrained, tmp_path):
    trim_vocab(
        pretrained,
        tmp_path / "new",
        TEXTS,
        config=TrimVocabConfig(min_count=2),
    )
    vocab = (tmp_path / "new" / "vocab.txt").read_text().splitlines()
    # "abab" occurs twice and "the" three times; one "." is a character.
    assert " ".join(vocab) == (
        "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##a ##b abab . the ##c"
    )
    assert _tokens(tmp_path / "new", ["the abab ababa aba ab"]) == [
        ["the", "abab", "abab", "##a", "a", "##b", "##a", "a", "##b"]
    ]


def test_the_most_frequent_pieces_are_kept_up_to_a_size(pretrained, tmp_path):
    def vocab(size):
        folder = tmp_path / f"new{size}"
        config = TrimVocabConfig(vocab_size=size)
        trim_vocab(pretrained, folder, TEXTS, config=config)
        return (folder / "vocab.txt").read_text().split()

    always = "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##a ##b . ##c".split()
    # "the" occurs three times and "abab" twice; of the others, "ab" is first.
    assert set(vocab(13)) == {*always, "the", "abab"}
    assert set(vocab(14)) == {*always, "the", "abab", "ab"}
    assert len(vocab(99)) == 16
    with pytest.raises(ValueError, match="vocab_size is 10, but there are al"):
        vocab(10)


@pytest.mark.slow
def test_korean_text_keeps_its_pieces(config, tmp_path, shared, reviews):
    """The released multilingual vocabulary, on a network of little width."""
    folder = tmp_path / "multilingual"
    folder.mkdir()
    config = BertConfig(**{**config.to_dict(), "vocab_size": 119547})
    save_file(
        {
            "embeddings/word_embeddings": np.arange(
                119547, dtype="float32"
            ).reshape(-1, 1)
        },
        folder / "model.safetensors",
    )
    (folder / "bert_config.json").write_text(config.to_json())
    file = shared / "data/vocab/bert-base-multilingual-cased.vocab.txt"
    (folder / "vocab.txt").write_bytes(file.read_bytes())
    known, other = reviews[:2000], reviews[2000:3000]
    trim_vocab(folder, tmp_path / "new", known)
    old, new = (
        BertTokenizer(f / "vocab.txt", False)
        for f in (folder, tmp_path / "new")
    )
    assert new.vocab_size < 25_000
    (rows,) = load_file(tmp_path / "new" / "model.safetensors").values()
    assert [old.vocab[int(i)] for i in rows[:, 0]] == list(new.vocab)
    kept = [old.vocab[i] for i in old(known).flat_values.numpy()]
    assert kept == [new.vocab[i] for i in new(known).flat_values.numpy()]
    # Other texts are in more tokens, but no word became unknown.
    before, after = (t(other).flat_values.numpy() for t in (old, new))
    assert len(after) > len(before)
    assert np.sum(after == new.unk_id) == np.sum(before == old.unk_id) > 100


def test_wrong_input_leaves_nothing(pretrained, tmp_path):
    with pytest.raises(ValueError, match="The text has no word"):
        trim_vocab(pretrained, tmp_path / "new", ["", " "])
    with pytest.raises(ValueError, match="lines is the string 'corpus.txt'"):
        trim_vocab(pretrained, tmp_path / "new", "corpus.txt")
    assert not list(tmp_path.glob("*new*"))
    (tmp_path / "new").mkdir()
    with pytest.raises(ValueError, match="already exists; give a new folder"):
        trim_vocab(pretrained, tmp_path / "new", TEXTS)
    with pytest.raises(ValueError, match="min_count is -1, but must"):
        TrimVocabConfig(min_count=-1)

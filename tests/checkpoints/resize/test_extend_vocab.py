"""Rows of new pieces are means of old ones; nothing else changes."""

import numpy as np
import pytest
from conftest import S
from full_disk import full_disk
from safetensors.numpy import load_file, save_file
from small_checkpoint import write_checkpoint

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_whole
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.checkpoints.resize.vocab import (
    ExtendVocabConfig,
    extend_vocab,
)
from keras_bert.config import BertConfig
from keras_bert.export.convert import convert_checkpoint
from keras_bert.models.electra import build_electra
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import SpecialTokens, TokenizerSettings

# Of 20 lines, the last one is held out.
LINES = ["the unaffable fox jumps , unaffable !"] * 19
HELD_OUT = "an unaffable movie jumps"
WORDS = "embeddings/word_embeddings"
BIAS = "masked_lm/output_bias"


@pytest.fixture(scope="module")
def pretrained(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("m") / "pretrained"
    return write_checkpoint(folder, config, build=build_pretraining_model)


def _arrays(folder):
    return load_file(folder / "model.safetensors")


def _ids(folder, *pieces):
    vocab = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    return [vocab.index(piece) for piece in pieces]


def test_learned_pieces_get_the_mean_of_what_they_replace(pretrained, tmp_path):
    figures = extend_vocab(pretrained, tmp_path / "new", [*LINES, HELD_OUT])
    vocab = (tmp_path / "new" / "vocab.txt").read_text().splitlines()
    # "un ##aff ##able" saves two tokens each time, "jump ##s" one. No word
    # between them is left to save anything.
    assert vocab[31:] == ["unaffable", "jumps"]
    assert figures == {
        "vocab_size_before": 31,
        "vocab_size_after": 33,
        "num_words": 4,
        "tokens_per_word_before": 7 / 4,  # "an" is [UNK]
        "tokens_per_word_after": 4 / 4,
        "unknown_words_before": 1,
        "unknown_words_after": 1,
    }
    old, new = _arrays(pretrained), _arrays(tmp_path / "new")
    parts = _ids(pretrained, "un", "##aff", "##able")
    for path in (WORDS, BIAS):
        np.testing.assert_array_equal(new[path][:31], old[path])
        np.testing.assert_allclose(
            new[path][31], old[path][parts].mean(0), rtol=1e-6
        )
        np.testing.assert_allclose(
            new[path][32],
            old[path][_ids(pretrained, "jump", "##s")].mean(0),
            rtol=1e-6,
        )
    assert old.keys() == new.keys()
    for path in old.keys() - {WORDS, BIAS}:
        np.testing.assert_array_equal(new[path], old[path], path)


def test_a_folder_of_transformers_gives_the_same(pretrained, tmp_path):
    convert_checkpoint(pretrained, tmp_path / "hub", "huggingface")
    words = ["foxes", "jumps"]
    extend_vocab(pretrained, tmp_path / "new", words=words)
    extend_vocab(tmp_path / "hub", tmp_path / "of_hub", words=words)
    others = _arrays(tmp_path / "of_hub")
    for path, array in _arrays(tmp_path / "new").items():
        np.testing.assert_array_equal(others[path], array, path)
    loaded = load_pretrained(tmp_path / "new", max_seq_length=9)
    assert loaded.tokenizer.vocab_size == loaded.config.vocab_size == 33


def test_a_list_is_read_as_the_checkpoint_reads_text(config, tmp_path):
    config = BertConfig(**{**config.to_dict(), "vocab_size": 12})
    folder = write_checkpoint(tmp_path / "encoder", config)
    vocab = "[PAD] [UNK] [CLS] [SEP] [MASK] covid ##id Covid - x ##y z"
    (folder / "vocab.txt").write_text(vocab.replace(" ", "\n"))
    settings = TokenizerSettings(True, tokenize_chinese_chars=False)
    (folder / "tokenizer_config.json").write_text(settings.to_json(16))
    words = ["COVID", " xy ", "##yyd", "  ", "zé", "covid"]
    figures = extend_vocab(
        folder, tmp_path / "new", words=words, config=ExtendVocabConfig()
    )
    assert figures == {"vocab_size_before": 12, "vocab_size_after": 15}
    new = (tmp_path / "new" / "vocab.txt").read_text().splitlines()
    assert new[12:] == ["xy", "##yyd", "ze"]
    assert load_tokenizer(tmp_path / "new").settings == settings
    before, after = _arrays(folder)[WORDS], _arrays(tmp_path / "new")[WORDS]
    # x ##y; then ##y ##y and a d without a piece, which is [UNK].
    sources = [[9, 10], [10, 10, 1], [11, 1]]
    for row, ids in zip(after[12:], sources, strict=True):
        np.testing.assert_allclose(row, before[ids].mean(0), rtol=1e-6)
    assert BIAS not in _arrays(tmp_path / "new")


def test_an_untied_decoder_grows_too(config, tmp_path):
    folder = write_checkpoint(tmp_path / "old", config)
    arrays = _arrays(folder)
    decoder = np.random.default_rng(5).normal(size=(12, 31)).astype("float32")
    save_file(
        arrays | {"masked_lm/decoder/kernel": decoder},
        folder / "model.safetensors",
    )
    extend_vocab(folder, tmp_path / "new", words=["jumps"])
    new = _arrays(tmp_path / "new")["masked_lm/decoder/kernel"]
    np.testing.assert_array_equal(new[:, :31], decoder)
    parts = _ids(folder, "jump", "##s")
    np.testing.assert_allclose(new[:, 31], decoder[:, parts].mean(1), rtol=1e-6)


def test_the_bias_of_a_generator_grows_too(config, tmp_path):
    folder = write_checkpoint(tmp_path / "old", config, build=build_electra)
    extend_vocab(folder, tmp_path / "new", words=["jumps"])
    new = build_electra(Checkpoint.of(tmp_path / "new").config)
    load_whole(new, tmp_path / "new")
    bias = f"generator_{BIAS}"
    old, new = _arrays(folder)[bias], _arrays(tmp_path / "new")[bias]
    parts = _ids(folder, "jump", "##s")
    np.testing.assert_allclose(new, [*old, old[parts].mean()], rtol=1e-6)


def test_an_unknown_token_of_another_name(config, tmp_path):
    folder = write_checkpoint(tmp_path / "old", config)
    vocab = (folder / "vocab.txt").read_text().replace("[UNK]", "<unk>")
    (folder / "vocab.txt").write_text(vocab)
    names = SpecialTokens(unk="<unk>")
    settings = TokenizerSettings(special_tokens=names).to_json(16)
    (folder / "tokenizer_config.json").write_text(settings)
    extend_vocab(folder, tmp_path / "new", words=["zzz"])
    old, new = (_arrays(x)[WORDS] for x in (folder, tmp_path / "new"))
    np.testing.assert_array_equal(new[-1], old[_ids(folder, "<unk>")[0]])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({}, "No word was given; give a text"),
        ({"lines": ["", " "]}, "No word was given"),
        ({"lines": "corpus.txt"}, "lines is the string 'corpus.txt', but li"),
        ({"words": "foxes"}, "words is the string 'foxes', but lines of text"),
        ({"words": ["", " "]}, "No word was given"),
        (
            {"lines": ["the fox"], "words": ["cat"]},
            "Both a text and words were",
        ),
        ({"words": ["the", "Fox"]}, "already has a piece for every given word"),
        ({"lines": ["the fox"] * 9}, "has a piece for every frequent word."),
        (
            {"words": ["##a-b"]},
            "'##a-b' is not one word: .* into .'a', '-', 'b'",
        ),
        ({"words": ["cats", "New York"]}, r"not one .*into \['new', 'york'\]"),
        ({"words": ["[NEW]"]}, "'.NEW.' is not one word: .*, without spaces"),
        ({"words": ["\u200b"]}, r"not one word: .* splits it into \[\]"),
        ({"words": ["caf\ufffd"]}, r"contains U\+FFFD, which replaces bytes"),
    ],
)
def test_wrong_input_leaves_nothing(pretrained, tmp_path, texts, message):
    with pytest.raises(ValueError, match=message):
        extend_vocab(pretrained, tmp_path / "new", **texts)
    assert not list(tmp_path.glob("*new*"))


def test_wrong_settings_are_refused(pretrained, tmp_path):
    with pytest.raises(ValueError, match="num_new_pieces is 0, but must be"):
        ExtendVocabConfig(num_new_pieces=0)
    (tmp_path / "new").mkdir()
    with pytest.raises(ValueError, match="already exists; give a new folder"):
        extend_vocab(pretrained, tmp_path / "new", words=["cats"])


def test_a_full_disk_leaves_nothing(pretrained, tmp_path):
    with (
        pytest.raises(OSError, match="Cannot write .*; free some disk space"),
        full_disk(max_size=5000),
    ):
        extend_vocab(pretrained, tmp_path / "new", words=["jumps"])
    assert not list(tmp_path.glob("*new*"))


@pytest.mark.slow
def test_on_a_store(pretrained, tmp_path, remote):
    for name in ("model.safetensors", "bert_config.json", "vocab.txt"):
        (remote / "old" / name).write_bytes((pretrained / name).read_bytes())
    for checkpoint, folder in (
        (pretrained, tmp_path / "new"),
        (remote / "old", remote / "new"),
    ):
        extend_vocab(checkpoint, folder, [*LINES, HELD_OUT])
    files = {path.name for path in (tmp_path / "new").iterdir()}
    assert files == {
        "bert_config.json",
        "model.safetensors",
        "tokenizer_config.json",
        "vocab.txt",
    }
    for name in files:
        assert (remote / "new" / name).read_bytes() == (
            tmp_path / "new" / name
        ).read_bytes()


@pytest.mark.slow
def test_korean_film_reviews_in_fewer_tokens(tmp_path, shared, reviews):
    """The released multilingual vocabulary, on a network of little width."""
    file = shared / "data/vocab/bert-base-multilingual-cased.vocab.txt"
    config = BertConfig(
        vocab_size=119547,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=S,
    )
    folder = write_checkpoint(tmp_path / "old", config)
    (folder / "vocab.txt").write_bytes(file.read_bytes())
    lines = list(filter(str.strip, reviews))[:3000]
    figures = extend_vocab(
        folder,
        tmp_path / "new",
        lines,
        config=ExtendVocabConfig(num_new_pieces=300),
    )
    assert figures["vocab_size_after"] == 119847
    assert load_tokenizer(tmp_path / "new").settings == TokenizerSettings(False)
    tokenizers = [
        BertTokenizer(f / "vocab.txt", False)
        for f in (folder, tmp_path / "new")
    ]
    before, after = (t(lines[19::20]).flat_values.numpy() for t in tokenizers)
    words = figures["num_words"]
    assert figures["tokens_per_word_before"] == len(before) / words
    assert figures["tokens_per_word_after"] == len(after) / words
    assert len(after) < 0.92 * len(before)
    # Reviews are full of ㅋㅋ and ㅠㅠ, which Wikipedia does not have.
    unknown = [np.sum(ids == tokenizers[0].unk_id) for ids in (before, after)]
    assert figures["unknown_words_before"] == unknown[0]
    assert figures["unknown_words_after"] == unknown[1] < 0.5 * unknown[0]

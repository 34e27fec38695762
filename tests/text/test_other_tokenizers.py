"""Tokenizers of BERT's family against those of transformers."""

import copy
import gzip
import json
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from keras_bert.checkpoints.load_tokenizer import (
    load_tokenizer,
    resolve_tokenizer_settings,
)
from keras_bert.errors import InputError
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.piece_models import WordPiece
from keras_bert.text.tokenizer_files import hub_files
from keras_bert.text.tokenizer_json import TokenizerJson, tokenizer_json
from keras_bert.text.tokenizer_sources import read_tokenizer
from keras_bert.text.without_tensorflow import ListPreprocessor, ListTokenizer

NAMES = ("roberta", "modernbert", "xlm_roberta", "mpnet")
STEPS = {
    "type": "Sequence",
    "pretokenizers": [{"type": "BertPreTokenizer"}, {"type": "Digits"}],
}
NO_RULES = {"type": "Precompiled", "precompiled_charsmap": "!!"}
# Not in the golden texts: bytes that are not UTF-8, NUL, clusters of marks.
ODD = [
    b"a\xffb \xc3",
    "nul \0 and <mask>  two  <s>",
    "e\u0301\u0301 \ufb01\u0301 \u0600e\u0301 \r\n\r\n",
    "I'll don't WE'VE 's\u00a0x  \t 's   ",
    "x" * 300 + " " * 40 + "가각\u1100\u1161\u11a8",
]


@pytest.fixture(scope="module")
def golden(shared):
    folder = shared / "golden/other_tokenizers"
    with gzip.open(folder / "expected.jsonl.gz") as lines:
        rows = [json.loads(line) for line in lines]
    assert len(rows) == 6821
    return folder, rows


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


# For tests in which one tokenizer is enough for `make test`.
_ONE_IS_QUICK = pytest.mark.parametrize(
    "name",
    [
        "modernbert",
        *(
            pytest.param(x, marks=pytest.mark.slow)
            for x in NAMES
            if x != "modernbert"
        ),
    ],
    indirect=True,
)


@pytest.fixture(scope="module")
def tokenizer(golden, name):
    return load_tokenizer(golden[0] / name, special_tokens_in_text=True)


@pytest.fixture(scope="module")
def small_roberta(golden):
    """RoBERTa's tokenizer.json with its first 300 merges."""
    values = json.loads((golden[0] / "roberta/tokenizer.json").read_text())
    model, added = values["model"], values["added_tokens"]
    merges = model["merges"][:300]
    pieces = [token["content"] for token in added]
    pieces += [x for x in model["vocab"] if len(x) == 1]
    pieces += map("".join, merges)
    ids = {x: i for i, x in enumerate(dict.fromkeys(pieces))}
    values["model"] = model | {"vocab": ids, "merges": merges}
    added = [x | {"id": ids[x["content"]]} for x in added]
    return values | {"added_tokens": added}


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_every_id_and_offset(golden, name, tokenizer, step):
    rows = golden[1][::step]
    texts = [row["text"] for row in rows]
    ids, offsets = [], []
    for start in range(0, len(texts), 1000):
        some = tf.constant(texts[start : start + 1000])
        tokens = tokenizer.tokenize_with_offsets(some)
        ids += tokens.ids.to_list()
        places = (tokens.start_chars.to_list(), tokens.end_chars.to_list())
        offsets += [
            [list(x) for x in zip(*row, strict=True)]
            for row in zip(*places, strict=True)
        ]
        assert tokenizer(some).to_list() == tokens.ids.to_list()
    assert ids == [row[name][1:-1] for row in rows]
    assert offsets == [row[f"{name}_offsets"][1:-1] for row in rows]


@pytest.mark.slow
def test_the_batch_does_not_matter(golden, tokenizer):
    texts = [row["text"] for row in golden[1][::1499]] + ["", ""]
    together = tokenizer(tf.constant(texts)).to_list()
    assert [tokenizer([text]).to_list()[0] for text in texts] == together
    assert tokenizer(tf.constant([], tf.string)).to_list() == []


def test_odd_texts_and_bytes(tokenizer):
    tokens = tokenizer.tokenize_with_offsets(tf.constant(ODD))
    assert tokenizer(ODD).to_list() == tokens.ids.to_list()
    texts = [x if isinstance(x, bytes) else x.encode() for x in ODD]
    chars = [x.decode(errors="ignore") for x in texts]
    library = ListTokenizer.from_settings(tokenizer.json, tokenizer.settings)
    assert tokens.ids.to_list() == library(chars)
    columns = (x.to_list() for x in tokens[1:])
    for text, *places in zip(texts, *columns, strict=True):
        for start, end, first, last in zip(*places, strict=True):
            in_bytes = text[start:end].decode(errors="ignore")
            assert in_bytes == text.decode(errors="ignore")[first:last]


@pytest.mark.slow
@_ONE_IS_QUICK
@pytest.mark.usefixtures("eagerly")
def test_features_equal_those_without_tensorflow(golden, tokenizer):
    texts = [row["text"] for row in golden[1][:200]]
    library = ListTokenizer.from_settings(tokenizer.json, tokenizer.settings)
    for columns in ([texts], [texts, texts[::-1]]):
        features = BertPreprocessor(tokenizer, 24)(*columns)
        expected = ListPreprocessor(library, 24)(*columns)
        for key, values in expected.items():
            mask = expected["input_mask"]
            np.testing.assert_array_equal(features[key] * mask, values * mask)


@pytest.mark.parametrize("folder", ["modernbert", "xlm_roberta"])
def test_added_and_special_tokens_without_tensorflow(golden, tmp_path, folder):
    values = json.loads((golden[0] / folder / "tokenizer.json").read_text())
    tokens = values["added_tokens"]
    added = tokens[0] | {"content": "cov-19", "id": tokens[-1]["id"] + 1}
    tokens.append(added | {"special": False})
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    tokenizer = load_tokenizer(vocab_file=tmp_path / "tokenizer.json")
    library = ListTokenizer.from_settings(tokenizer.json, tokenizer.settings)
    special = " ".join(tokenizer.special_tokens)
    ids = tokenizer([f"the cov-19 {special} cov-19"]).to_list()
    assert ids[0].count(added["id"]) == 2
    # No user can put a special token into a text.
    special_ids = map(tokenizer.vocab.index, tokenizer.special_tokens)
    assert not {*special_ids} & {*ids[0]}
    assert library([f"the cov-19 {special} cov-19"]) == ids
    # An exported folder is read back with the same pieces.
    exported = tmp_path / "exported.json"
    exported.write_text(tokenizer_json(tokenizer, tokenizer.found_in_text()))
    again = ListTokenizer.from_settings(
        TokenizerJson(exported), tokenizer.settings
    )
    assert again.vocab == tokenizer.vocab
    assert again([f"the cov-19 {special} cov-19"]) == ids


@pytest.mark.slow
@_ONE_IS_QUICK
def test_a_copy_and_a_folder(tokenizer, tmp_path):
    texts = ["Don't  say <mask> to café", "two\tNUL\0"]
    ids = tokenizer(texts).to_list()
    assert pickle.loads(pickle.dumps(tokenizer))(texts).to_list() == ids
    for file, text in tokenizer.sidecars(64).items():
        (tmp_path / file).write_text(text)
    in_python = ListTokenizer.from_folder(tmp_path)
    again = load_tokenizer(tmp_path)
    assert again.settings == in_python.settings == tokenizer.settings
    assert again(texts).to_list() == in_python(texts) == ids


@pytest.mark.slow
def test_a_saved_model_without_this_package(tokenizer, tmp_path):
    """It has no operation of tensorflow-text either."""

    class Features(tf.Module):
        def __init__(self):
            super().__init__()
            self.preprocessor = BertPreprocessor(tokenizer, 32)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def __call__(self, texts):
            return (
                self.preprocessor.pack_columns(texts)
                .features["input_ids"]
                .to_tensor(-1)
            )

    texts = ["The fox, don't!", "가 나  다 <mask>", "", "e\u0301"]
    module = Features()
    expected = module(tf.constant(texts)).numpy().tolist()
    tf.saved_model.save(module, str(tmp_path / "saved"))
    code = (
        "import sys, json, tensorflow as tf\n"
        "model = tf.saved_model.load(sys.argv[1])\n"
        "texts = tf.constant(json.loads(sys.argv[2]))\n"
        "print(json.dumps(model(texts).numpy().tolist()))\n"
        "assert not {'keras_bert', 'tensorflow_text'} & {*sys.modules}"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "saved")]
    done = subprocess.run(
        [*command, json.dumps(texts)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == expected


@pytest.mark.usefixtures("eagerly")
def test_whole_words_are_masked_together(tokenizer):
    text = "a b unbelievable c d e transformations f g h i j"
    features = BertPreprocessor(tokenizer, 32)([text] * 200)
    masker = MaskedLMMasker(
        tokenizer,
        max_predictions_per_seq=8,
        masked_lm_prob=0.4,
        do_whole_word_mask=True,
    )
    seeds = tf.stack([tf.range(200), tf.zeros(200, tf.int32)], axis=1)
    masked = masker(features, seeds)
    tokens = tokenizer.tokens(features["input_ids"][0])
    inside = tokenizer.continues_word
    ids = features["input_ids"][0].numpy()
    words, number = [], 0
    for i, _ in enumerate(tokens):
        number += i < 2 or not inside[ids[i]]
        words.append(number)
    num_masked = 0
    for positions, weights in zip(
        masked["masked_lm_positions"].numpy(),
        masked["masked_lm_weights"].numpy(),
        strict=True,
    ):
        chosen = set(positions[weights > 0].tolist())
        num_masked += len(chosen)
        for word in {words[i] for i in chosen}:
            assert {i for i, x in enumerate(words) if x == word} <= chosen
    assert num_masked > 400


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("roberta", {"pre_tokenizer": {"type": "Digits"}}, "pre_tokenizer"),
        ("roberta", {"pre_tokenizer": STEPS}, "pre_tokenizer: .*Digits"),
        ("roberta", {"normalizer": {"type": "Nmt"}}, "normalizer: {"),
        ("xlm_roberta", {"pre_tokenizer": None}, "pre_tokenizer: \\[\\]"),
        ("xlm_roberta", {"post_processor": None}, "post_processor: None"),
        ("xlm_roberta", {"model.byte_fallback": True}, "byte_fallback: True"),
        ("roberta", {"model.dropout": 0.1}, "dropout: 0.1"),
        ("roberta", {"model.fuse_unk": True}, "fuse_unk: True"),
        ("roberta", {"model.merges": [["\u0120t", "he"]]}, "The merge"),
        ("roberta", {"model.vocab": {"a": 0}}, "<s>"),
        ("roberta", {"model.merges": []}, "is not a tokenizer"),
        ("roberta", {"model.merges": ["one"]}, "is not a tokenizer"),
        ("roberta", {"model.merges": [["qq", "zz"]]}, "is not a tokenizer"),
        ("roberta", {"pre_tokenizer": "ByteLevel"}, "is not a tokenizer"),
        ("xlm_roberta", {"model.unk_id": None}, "unk_id is not a number"),
        ("xlm_roberta", {"model.vocab": [["a", "1"]]}, "is not a tokenizer"),
        ("xlm_roberta", {"normalizer": NO_RULES}, "is not a tokenizer"),
    ],
)
def test_what_is_not_known_is_refused(
    golden, small_roberta, tmp_path, name, change, message
):
    folder = golden[0] / name
    if name == "roberta":
        values = copy.deepcopy(small_roberta)
    else:
        values = json.loads((folder / "tokenizer.json").read_text())
    for key, value in change.items():
        part, _, inner = key.rpartition(".")
        (values[part] if part else values)[inner] = value
    shutil.copy(folder / "tokenizer_config.json", tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"do_lower_case": False}, "[UNK] [UNK] dog 日 本"),
        ({"strip_accents": False}, "the [UNK] dog 日 本"),
        ({"tokenize_chinese_chars": False}, "the cafe dog 日 ##本"),
    ],
)
def test_settings_that_differ_from_the_file_of_mpnet(
    golden, tmp_path, values, expected
):
    """transformers' MPNetTokenizer ignores the file's normalizer."""
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(golden[0] / "mpnet" / name, tmp_path)
    file = tmp_path / "tokenizer_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    tokenizer = load_tokenizer(tmp_path)
    texts = ["The café dog 日本", "x" * 101]
    ids = tokenizer(texts).to_list()
    assert tokenizer.tokens(ids[0]) == expected.split()
    assert ListTokenizer.from_folder(tmp_path)(texts) == ids
    written = Tokenizer.from_str(hub_files(tokenizer, 64)["tokenizer.json"])
    encoded = [written.encode(text) for text in texts]
    assert [x.ids[1:-1] for x in encoded] == ids


def test_two_separators_without_a_tokenizer_json(golden, tmp_path):
    """transformers' BertTokenizer would put one between two texts."""
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(golden[0] / "mpnet" / name, tmp_path)
    tokenizer = ListTokenizer.from_folder(tmp_path)
    files = hub_files(tokenizer, 64)
    config = json.loads(files["tokenizer_config.json"])
    assert config["tokenizer_class"] == "PreTrainedTokenizerFast"
    written = Tokenizer.from_str(files["tokenizer.json"])
    tokens = "<s> the dog </s> </s> a dog </s>"
    assert written.encode("the dog", "a dog").tokens == tokens.split()


def test_the_case_of_other_models_is_in_their_file(golden):
    folder = golden[0] / "roberta"
    assert not ListTokenizer(folder / "tokenizer.json").do_lower_case
    with pytest.raises(InputError, match="do_lower_case=True has no effect"):
        load_tokenizer(folder, do_lower_case=True)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("xlm_roberta", ["sentencepiece.bpe.model"]),
        ("roberta", ["vocab.json", "merges.txt"]),
    ],
)
def test_the_files_that_a_tokenizer_json_was_made_of(
    golden, tmp_path, name, files
):
    expected = read_tokenizer(golden[0] / name / "tokenizer.json")
    for file in files:
        shutil.copy(golden[0] / name / file, tmp_path)
    made = read_tokenizer(tmp_path / files[0])
    assert made.vocab == expected.vocab
    # With SentencePiece's file, white space at the ends is left out.
    steps = ("normalizer", "pre_tokenizer", "decoder")
    for step in steps if name == "roberta" else ["decoder"]:
        assert made.values[step] == expected.values[step]
    for key, value in made.model.items():
        if key == "vocab" and made.model["type"] == "Unigram":
            scores, known = (
                [y for _, y in x] for x in (value, expected.model["vocab"])
            )
            np.testing.assert_allclose(scores, known, rtol=1e-6)
        else:
            assert value == expected.model[key]
    settings = resolve_tokenizer_settings(
        tmp_path, tmp_path / files[0], special_tokens_in_text=True
    )
    tokenizer = ListTokenizer.from_settings(made, settings)
    at_an_end = re.compile(r"^\s|\s$|\s<|>\s")  # of a part of the text
    rows = [x for x in golden[1] if not at_an_end.search(x["text"])]
    assert len(rows) > 5_000
    ids = tokenizer([row["text"] for row in rows])
    assert ids == [row[name][1:-1] for row in rows]


@pytest.mark.slow
def test_white_space_at_the_end_with_a_sentencepiece_file(golden, tmp_path):
    """The ids are those of transformers 4 and 5 and of SentencePiece."""
    file = golden[0] / "xlm_roberta/sentencepiece.bpe.model"
    tokenizer = load_tokenizer(vocab_file=file)
    texts = ["hello world ", "hello\n", "a\nb\t c\n", "   "]
    expected = ["\u2581 h ello \u2581world", "\u2581 h ello"]
    expected += ["\u2581a \u2581b \u2581c", ""]
    tokens = [" ".join(map(str, tokenizer.tokens(x))) for x in tokenizer(texts)]
    assert tokens == expected
    library = ListTokenizer.from_settings(tokenizer.json, tokenizer.settings)
    assert library(texts) == tokenizer(texts).to_list()


@pytest.mark.slow
def test_the_end_is_stripped_as_transformers_4_writes_it(golden, tmp_path):
    folder = golden[0] / "xlm_roberta"
    values = json.loads((folder / "tokenizer.json").read_text())
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    values["normalizer"]["normalizers"].insert(1, strip)
    shutil.copy(folder / "tokenizer_config.json", tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    tokenizer = load_tokenizer(tmp_path, special_tokens_in_text=True)
    library = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = ["a b ", "a \n\u3000", " \t", "", " a  b\u00e9 \u0085", "a <mask> "]
    _check_against(library, tokenizer, texts)


def test_a_sentencepiece_file_of_another_family(golden, tmp_path):
    file = golden[0] / "xlm_roberta/sentencepiece.bpe.model"
    shutil.copy(file, tmp_path / "spiece.model")
    with pytest.raises(InputError, match="give the tokenizer.json"):
        load_tokenizer(vocab_file=tmp_path / "spiece.model")
    (tmp_path / file.name).write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputError, match="is not a tokenizer"):
        load_tokenizer(vocab_file=tmp_path / file.name)


@pytest.mark.parametrize("of_words", [True, False])
@pytest.mark.parametrize("of_offsets", [True, False])
@pytest.mark.usefixtures("eagerly")
def test_a_space_before_a_text(small_roberta, tmp_path, of_words, of_offsets):
    """One flag adds it, another one tells where the first token begins."""
    values = copy.deepcopy(small_roberta)
    values["pre_tokenizer"]["add_prefix_space"] = of_words
    values["post_processor"]["add_prefix_space"] = of_offsets
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(values))
    tokenizer = load_tokenizer(vocab_file=file, special_tokens_in_text=True)
    library = Tokenizer.from_file(str(file))
    texts = [" two words", "a b  c", "  x", "x \n y ", " ", "", " <mask> a"]
    _check_against(library, tokenizer, texts)


def _check_against(library, tokenizer, texts):
    tokens = tokenizer.tokenize_with_offsets(texts)
    places = (x.to_list() for x in (tokens.start_chars, tokens.end_chars))
    for text, ids, *ends in zip(
        texts, tokens.ids.to_list(), *places, strict=True
    ):
        expected = library.encode(text)
        assert ids == expected.ids[1:-1]
        assert [*zip(*ends, strict=True)] == expected.offsets[1:-1]


def test_files_that_differ_in_the_space_before_a_text(golden, tmp_path):
    """For RoBERTa, transformers obeys tokenizer_config.json."""
    folder = golden[0] / "roberta"
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["add_prefix_space"] = True
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    shutil.copy(folder / "tokenizer.json", tmp_path)
    with pytest.raises(InputError, match="space: False, but .* says True"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(folder / name, tmp_path)
    assert ListTokenizer.from_folder(tmp_path).json.adds_space


def test_xlm_roberta_without_a_space_before_a_text(golden, tmp_path):
    """In transformers 5, the config decides; tokenizer.json adds the space."""
    folder = golden[0] / "xlm_roberta"
    config = json.loads((folder / "tokenizer_config.json").read_text())
    shutil.copy(folder / "tokenizer.json", tmp_path)
    for adds_space in (True, False):
        config["add_prefix_space"] = adds_space
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        if adds_space:
            assert load_tokenizer(tmp_path).json.adds_space
    with pytest.raises(InputError, match="space: True, but .* says False"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    shutil.copy(folder / "sentencepiece.bpe.model", tmp_path)
    with pytest.raises(InputError, match="space: True, but .* says False"):
        load_tokenizer(tmp_path)


def test_word_pieces():
    pieces = {"[UNK]": 0, "ab": 1, "a": 2, "##b": 3, "##bc": 4, "x": 5}
    words = tf.constant(["ab", "abc", "abbc", "xx", "xb", "\U0010ffffb", "aq"])
    expected = [[1], [0], [1, 4], [0], [5, 3], [0], [0]]
    assert WordPiece(pieces, 0, 4)(words).ids.to_list() == expected
    del pieces["##b"], pieces["##bc"]
    expected = [[1], [0], [0], [0], [0], [0], [0]]
    assert WordPiece(pieces, 0, 4)(words).ids.to_list() == expected


@pytest.mark.slow
def test_the_last_rank_of_a_merge_counts(small_roberta, tmp_path):
    values = copy.deepcopy(small_roberta)
    merges = [["a", "b"], ["b", "c"], ["a", "b"]]
    ids = values["model"]["vocab"]
    for merge in merges:
        ids.setdefault("".join(merge), len(ids))
    values["model"]["merges"] = merges
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(values))
    tokenizer = load_tokenizer(vocab_file=file)
    assert tokenizer(["abc"]).to_list() == [[ids["a"], ids["bc"]]]
    _check_against(Tokenizer.from_file(str(file)), tokenizer, ["abc", "ab"])


def test_vocab_json_without_merges(golden, tmp_path):
    shutil.copy(golden[0] / "roberta/vocab.json", tmp_path)
    message = "vocab.json has no merges.txt; copy that file there"
    with pytest.raises(FileNotFoundError, match=message):
        load_tokenizer(vocab_file=tmp_path / "vocab.json")

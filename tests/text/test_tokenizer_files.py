"""What transformers' AutoTokenizer gives for folders is what these say here."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
import tensorflow as tf
from conftest import SPECIAL_TOKENS, WORDS

from keras_bert.checkpoints.load_tokenizer import load_tokenizer
from keras_bert.errors import InputError
from keras_bert.finetuning.by_kind import load_finetuned
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import BertTokenizer, PortableTokenizer
from keras_bert.text.tokenizer_files import hub_files
from keras_bert.text.tokenizer_json import tokenizer_json
from keras_bert.text.tokenizer_settings import SpecialTokens, TokenizerSettings
from keras_bert.text.without_tensorflow import ListPreprocessor, ListTokenizer

# Folders with a tokenizer that this package does not have.
REFUSED = {
    "no_clean_text": "tokenizer.json has clean_text: False, which",
    "no_final_sep": "tokenizer.json has post_processor: {'pair':",
    "other_prefix": "has continuing_subword_prefix: '@@', which",
}


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
@pytest.mark.parametrize(
    "in_text", [pytest.param(True, marks=pytest.mark.slow), False]
)
def test_ids_segments_and_offsets_of_transformers(shared, in_text):
    folders = sorted((shared / "golden/tokenizer_settings").iterdir())
    assert len(folders) == 27
    for folder in folders if in_text else folders[1:3]:
        if message := REFUSED.get(folder.name):
            with pytest.raises(InputError) as error:
                load_tokenizer(folder)
            assert message in str(error.value)
            continue
        tokenizers = _both(folder, special_tokens_in_text=in_text)
        tokenizers += (PortableTokenizer.of(tokenizers[0]),)
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


@pytest.mark.slow
def test_vectors_of_a_model_with_added_tokens(shared):
    folder = shared / "golden/retrievers/embedder_added_tokens"
    expected = json.loads((folder / "expected.json").read_text())
    tokenizer = load_tokenizer(folder, special_tokens_in_text=True)
    packed = BertPreprocessor(tokenizer, 64).pack(expected["texts"])
    assert packed.features["input_ids"].to_list() == expected["ids"]
    texts = [{"text": text} for text in expected["texts"][:-1]]  # no [MASK]
    vectors = load_finetuned(folder).predict(texts)
    np.testing.assert_allclose(
        [x["embedding"] for x in vectors], expected["vectors"][:-1], atol=1e-5
    )


# The pieces of the folders below.
PIECES = [*SPECIAL_TOKENS, *WORDS, "c", "19"]
NAMES = {f"{x}_token": f"[{x.upper()}]" for x in ("pad", "unk", "cls", "sep")}
# [ENT] is special; the others are looked for in the cleaned text.
ADDED = [
    {"content": "[ENT]", "id": 33, "special": True, "normalized": False},
    {"content": "Co-19", "id": 34},
    {"content": "c++", "id": 35, "single_word": True},
    {"content": "fox!", "id": 36, "rstrip": True, "lstrip": True},
]
TEXTS = [
    "a [ENT]dog[ENT] co-19 film CO-19",
    "c++, c++x c++ [MASK] fox",
    "a   fox! \n dog",
    "",
    "no film",
]
WITH_ADDED = [
    "a [ENT] dog [ENT] Co-19 film Co-19",
    "c++ , c [UNK] [UNK] [UNK] c++ [UNK] [UNK] [UNK] fox",
    "a fox! dog",
    "",
    "[UNK] film",
]


@pytest.fixture
def make_folder(tmp_path):
    def make(name="folder", pieces=PIECES, **files):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
        for file, values in files.items():
            (folder / f"{file}.json").write_text(json.dumps(values))
        return folder

    return make


def _tokenizer_json(added=ADDED, **changed):
    values = {
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "vocab": {x: i for i, x in enumerate(PIECES)},
        },
    }
    return values | changed


def _decoder():
    return {str(x["id"]): {n: x[n] for n in x.keys() - {"id"}} for x in ADDED}


LAYOUTS = {
    "tokenizer.json": {"tokenizer": _tokenizer_json()},
    "added_tokens_decoder": {
        "config": {},
        "tokenizer_config": {"added_tokens_decoder": _decoder()},
    },
    "added_tokens_decoder without config.json": {
        "tokenizer_config": {"added_tokens_decoder": _decoder()},
    },
    "both": {
        "tokenizer": _tokenizer_json([]),
        "tokenizer_config": {"added_tokens_decoder": _decoder()},
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_added_tokens_are_found_before_a_text_is_split(make_folder, layout):
    folder = make_folder(**LAYOUTS[layout])
    tokenizer, in_python = _both(folder)
    expected = [row.split() for row in WITH_ADDED]
    for ids in (tokenizer(TEXTS).to_list(), in_python(TEXTS)):
        assert [tokenizer.tokens(row) for row in ids] == expected
    places = _located(tokenizer, TEXTS)
    assert places == _located(in_python, TEXTS)
    assert places[2] == [[6, 0, 1], [36, 1, 11], [15, 11, 14]]


def test_added_tokens_are_saved(make_folder, tmp_path):
    tokenizer, _ = _both(make_folder(**LAYOUTS["both"]))
    for name, files in (
        ("ours", tokenizer.sidecars(16)),
        ("hub", hub_files(tokenizer, 16)),
    ):
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
        again = load_tokenizer(tmp_path / name)
        for other in (again, ListTokenizer.from_folder(tmp_path / name)):
            assert other.settings == tokenizer.settings
            assert other.vocab == tokenizer.vocab
            assert other.pieces == tokenizer.pieces == tuple(PIECES)
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.settings == tokenizer.settings
    assert copy.pieces == tokenizer.pieces
    exported = tf.Module()
    exported.call = tf.function(
        tokenizer.__call__, [tf.TensorSpec([None], tf.string)]
    )
    tf.saved_model.save(exported, tmp_path / "exported")
    loaded = tf.saved_model.load(tmp_path / "exported")
    ids = loaded.call(tf.constant(TEXTS)).to_list()
    assert ids == tokenizer(TEXTS).to_list()
    # Fewer pieces move the added tokens to other ids.
    smaller = tokenizer.with_vocab(
        (*SPECIAL_TOKENS, "a", *tokenizer.vocab[33:])
    )
    assert smaller(["a [ENT] c++"]).to_list() == [[5, 6, 8]]


def test_the_old_layout(make_folder):
    """additional_special_tokens of a map are looked for in cleaned text."""
    folder = make_folder(
        added_tokens={"[ENT]": 33, "Co-19": 34},
        special_tokens_map={
            **NAMES,
            "mask_token": {"content": "[MASK]", "lstrip": True},
            "additional_special_tokens": ["[ENT]", "film"],
        },
        tokenizer_config={"do_lower_case": True},
    )
    tokenizer, in_python = _both(folder, special_tokens_in_text=True)
    texts = ["[ent]co-19[MASK] CO-19", "filmfilm a  [MASK] a"]
    film = PIECES.index("film")
    ids = [[33, 34, 4, 34], [film, film, 6, 4, 6]]
    assert tokenizer(texts).to_list() == in_python(texts) == ids
    assert _located(tokenizer, texts)[1][3] == [4, 10, 18]


def test_tokenizer_json_decides(make_folder):
    stale = [*SPECIAL_TOKENS, *reversed(PIECES[5:])]
    folder = make_folder(
        pieces=stale,
        tokenizer=_tokenizer_json(),
        tokenizer_config={"do_lower_case": True},
    )
    assert load_tokenizer(folder).pieces == tuple(PIECES)
    alone = load_tokenizer(vocab_file=folder / "tokenizer.json")
    assert alone(TEXTS).to_list() == load_tokenizer(folder)(TEXTS).to_list()
    direct = BertTokenizer(folder / "tokenizer.json")
    assert direct.settings == alone.settings
    # A folder of this package has vocab.txt; tokenizer.json is for others.
    for file, text in direct.sidecars(16).items():
        (folder / file).write_text(text)
    (folder / "vocab.txt").write_text("\n".join(stale))
    assert load_tokenizer(folder).pieces == tuple(stale)


def test_a_folder_that_transformers_saved_again(make_folder):
    """transformers copies our key, but its tokenizer may have new tokens."""
    files = hub_files(BertTokenizer(PIECES, special_tokens_in_text=True), 16)
    again = json.loads(files["tokenizer_config.json"])
    again |= {
        "backend": "tokenizers",
        "cls_token": "fox",
        "model_input_names": [],
    }
    folder = make_folder(
        pieces=reversed(PIECES),  # release 5 leaves the old vocab.txt there
        tokenizer=_tokenizer_json(),
        tokenizer_config=again,
    )
    tokenizer, in_python = _both(folder)
    for ids in (tokenizer(TEXTS[:1]).to_list(), in_python(TEXTS[:1])):
        assert tokenizer.tokens(ids[0]) == WITH_ADDED[0].split()
    assert tokenizer.settings.special_tokens_in_text
    assert tokenizer.settings.special_tokens.cls == "fox"
    assert tokenizer.settings.second_segment == 0


def test_edited_keys_of_our_own_config(make_folder):
    settings = TokenizerSettings(
        truncation_side="left", special_tokens=SpecialTokens(mask="film")
    )
    tokenizer = BertTokenizer.from_settings(PIECES, settings)
    config = json.loads(hub_files(tokenizer, 16)["tokenizer_config.json"])
    folder = make_folder(tokenizer_config=config)
    assert load_tokenizer(folder).settings == settings
    config |= {"truncation_side": "right", "cls_token": {"content": "fox"}}
    config["model_input_names"] = ["input_ids"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    assert load_tokenizer(folder).settings == TokenizerSettings(
        special_tokens=SpecialTokens(cls="fox", mask="film"), second_segment=0
    )


def test_a_cased_tokenizer_json_decides_about_case(make_folder):
    clean = {"type": "BertNormalizer", "lowercase": False}
    folder = make_folder(tokenizer=_tokenizer_json(normalizer=clean))
    file = folder / "tokenizer.json"
    cased = BertTokenizer(file)
    assert not cased.do_lower_case
    assert BertTokenizer(file, True).do_lower_case
    changed = BertTokenizer(file, tokenize_chinese_chars=False)
    assert changed.settings == dataclasses.replace(
        cased.settings, tokenize_chinese_chars=False
    )


@pytest.mark.parametrize("lower", [True, False])
def test_our_own_tokenizer_json_alone(make_folder, tmp_path, lower):
    settings = TokenizerSettings(
        lower,
        strip_accents=not lower,
        second_segment=0,
        special_tokens=SpecialTokens(cls="fox", sep="dog"),
    )
    text = tokenizer_json(ListTokenizer.from_settings(PIECES, settings))
    (tmp_path / "tokenizer.json").write_text(text)
    found = load_tokenizer(tmp_path).settings
    assert found == dataclasses.replace(
        settings, max_input_chars_per_word=200, is_of_hub=True,
        special_tokens=SpecialTokens(cls="fox", sep="dog"),
    )  # fmt: skip


def test_a_byte_order_mark_in_a_config(make_folder):
    folder = make_folder(config={})
    text = '\ufeff{"do_lower_case": false}'
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    assert not load_tokenizer(folder).do_lower_case


LONG = "a" * 101


@pytest.mark.parametrize(
    ("files", "longest"),
    [
        ({}, 200),
        ({"config": {}}, 100),
        ({"tokenizer": _tokenizer_json()}, 100),
        (
            {
                "tokenizer": _tokenizer_json(
                    model=_tokenizer_json()["model"]
                    | {"max_input_chars_per_word": 7}
                )
            },
            7,
        ),
    ],
)
def test_characters_of_a_word(make_folder, files, longest):
    pieces = ["##a" if x == "very" else x for x in PIECES]
    model = {"vocab": {x: i for i, x in enumerate(pieces)}}
    if "tokenizer" in files:
        files["tokenizer"]["model"] |= model
    tokenizer, in_python = _both(make_folder(pieces=pieces, **files))
    texts = ["a" * longest, "a" * (longest + 1)]
    counts = tokenizer(texts).row_lengths().numpy().tolist()
    assert counts == [longest, 1]
    assert in_python(texts) == tokenizer(texts).to_list()


@pytest.mark.usefixtures("eagerly")
def test_pairs_of_an_odd_budget(vocab_file):
    """google-research/bert cuts the second text, transformers the first."""
    for is_of_hub, side, tokens in (
        (False, "right", "[CLS] the fox jump ##ed [SEP] a dog is [SEP]"),
        (True, "right", "[CLS] the fox jump [SEP] a dog is lazy [SEP]"),
        (True, "left", "[CLS] fox jump ##ed [SEP] a dog is lazy [SEP]"),
    ):
        options = {"is_of_hub": is_of_hub, "truncation_side": side}
        tokenizer = BertTokenizer(vocab_file, **options)
        in_python = ListTokenizer(vocab_file, **options)
        for packer in (
            BertPreprocessor(tokenizer, 10),
            ListPreprocessor(in_python, 10),
        ):
            features = packer(["the fox jumped"], ["a dog is lazy"])
            (ids,) = np.array(features["input_ids"])
            assert tokenizer.tokens(ids) == tokens.split()


def test_lines_are_stripped_as_by_google(tmp_path):
    file = tmp_path / "vocab.txt"
    lines = [*SPECIAL_TOKENS, "the \t", "fox\r\r", " dog", "\u2028", "film"]
    file.write_bytes("\r\n".join(lines).encode())
    assert BertTokenizer(file)(["the fox dog film"]).to_list() == [[5, 6, 7, 9]]
    # transformers ends lines at CR too, and strips nothing.
    (tmp_path / "config.json").write_text("{}")
    file.write_bytes("\r".join([*SPECIAL_TOKENS, "the ", "fox"]).encode())
    assert load_tokenizer(tmp_path)(["the fox"]).to_list() == [[1, 6]]


def test_a_guessed_case_is_said(vocab_file, caplog):
    pieces = [*SPECIAL_TOKENS, *(f"x{i}" for i in range(100)), "COVID"]
    vocab_file.write_text("\n".join(pieces))
    assert load_tokenizer(vocab_file=vocab_file).do_lower_case
    assert (
        "Text is lower-cased, because 1 of the 106 word pieces" in caplog.text
    )
    caplog.clear()
    load_tokenizer(vocab_file=vocab_file, do_lower_case=True)
    assert not caplog.records


def _with_config(**values):
    config = {"tokenizer_class": "BertTokenizer"} | values
    return {"tokenizer": _tokenizer_json(), "tokenizer_config": config}


def _with_json(**values):
    files = _with_config(tokenizer_class="PreTrainedTokenizerFast")
    return files | {"tokenizer": _tokenizer_json(**values)}


MODEL = _tokenizer_json()["model"]
NORMALIZER = _tokenizer_json()["normalizer"]
MISUSES = {
    "an unknown key": (_with_config(splits="no"), "has splits: 'no', which"),
    "special tokens split": (
        _with_config(split_special_tokens=True),
        "has split_special_tokens: True, which",
    ),
    "an unknown side": (
        _with_config(truncation_side="middle"),
        "truncation_side is 'middle', but must be one of right, left",
    ),
    "no BERT": (
        _with_config(subword_tokenizer_type="character"),
        "has subword_tokenizer_type: 'character', which does not match its",
    ),
    "word pieces of RoBERTa": (
        _with_config(tokenizer_class="RobertaTokenizer"),
        "has word pieces, but the tokenizer_class is RobertaTokenizer",
    ),
    "word pieces of a RoBERTa network": (
        {
            **_with_config(tokenizer_class=None),
            "config": {"model_type": "xlm-roberta"},
        },
        "has word pieces, but the tokenizer_class is XLMRobertaTokenizer",
    ),
    "an unknown name": (
        {"special_tokens_map": {"image_token": "<i>"}},
        "special_tokens_map.json has image_token: '<i>', which",
    ),
    "a number for the case": (
        _with_config(do_lower_case="yes"),
        "has a wrong setting: do_lower_case is 'yes', but must be True or F",
    ),
    "a list for the names": (_with_config(cls_token=["a"]), "is not a token"),
    "names that no piece has": (_with_config(sep_token="</s>"), "has no </s>"),
    "a list of added tokens": (
        _with_config(added_tokens_decoder=[1]),
        "is not a tokenizer",
    ),
    "gaps of ids": (
        {"config": {}, "added_tokens": {"[ENT]": 40}},
        "The added token '[ENT]' has the id 40, but the vocabulary",
    ),
    "an id of another piece": (
        {"config": {}, "added_tokens": {"[ENT]": 7}},
        "The added token '[ENT]' has the id 7, but the vocabulary",
    ),
    "an id as a string": (
        {"config": {}, "added_tokens": {"[ENT]": "33"}},
        "'[ENT]'",
    ),
    "an unknown part": (
        {"tokenizer": _tokenizer_json(more=1)},
        "tokenizer.json has more: 1, which",
    ),
    "an unknown key of the model": (
        {"tokenizer": _tokenizer_json(model=MODEL | {"dropout": 0.1})},
        "has dropout: 0.1, which",
    ),
    "another prefix": (
        {
            "tokenizer": _tokenizer_json(
                model=MODEL | {"continuing_subword_prefix": "@@"}
            )
        },
        "has continuing_subword_prefix: '@@', which",
    ),
    "an unknown key of the normalizer": (
        _with_json(normalizer=NORMALIZER | {"form": "NFC"}),
        "has form: 'NFC', which",
    ),
    "no cleaning": (
        _with_json(normalizer=NORMALIZER | {"clean_text": False}),
        "has clean_text: False, which",
    ),
    "two normalizers": (
        _with_json(
            normalizer={
                "type": "Sequence",
                "normalizers": [{"type": "NFKC"}, NORMALIZER],
            }
        ),
        "has normalizer: {",
    ),
    "no special tokens": (
        _with_json(post_processor=None),
        "has post_processor: None, which",
    ),
    "a special token of another id": (
        _with_json(
            post_processor={
                "type": "BertProcessing",
                "sep": ["[SEP]", 4],
                "cls": ["[CLS]", 2],
            }
        ),
        "has post_processor: {",
    ),
    "an unknown key of ours": (
        {"tokenizer_config": {"keras_bert": {"truncation": "left"}}},
        "has truncation: 'left', which",
    ),
    "a wrong key of ours": (
        {"tokenizer_config": {"keras_bert": {"added_tokens": [{"id": 3}]}}},
        "has a wrong setting: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_what_cannot_be_done_is_refused(make_folder, name):
    files, message = MISUSES[name]
    with pytest.raises(InputError) as error:
        load_tokenizer(make_folder(**files))
    assert message in str(error.value)

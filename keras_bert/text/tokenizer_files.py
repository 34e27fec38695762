"""The files of a folder -> its vocabulary and the settings of its tokenizer.

They are read as AutoTokenizer of transformers 5 reads them: `tokenizer.json`
decides, and without it `vocab.txt`, `added_tokens.json` and
`special_tokens_map.json`, each with `tokenizer_config.json`. Each key is used,
is known to change nothing, or is refused.
"""

import contextlib
import itertools
import json
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.whole_files import read_json, to_json
from keras_bert.text.tokenizer_settings import (
    OURS,
    SPECIAL_TOKENS,
    AddedToken,
    SpecialTokens,
)

_CONFIG, _JSON, _VOCAB = "tokenizer_config.json", "tokenizer.json", "vocab.txt"
_ADDED, _MAP = "added_tokens.json", "special_tokens_map.json"
# The folders of google-research/bert have none of these.
_OF_HUB = (_JSON, _ADDED, _MAP, "config.json")
# What `TokenizerSettings.to_json` has always written.
_OLD_KEYS = {
    *("do_lower_case", "strip_accents", "tokenize_chinese_chars"),
    *("model_max_length", "tokenizer_class"),
}
# These do what tokenizer.json says. The classes of BERT take no more from it
# than the pieces and the added tokens, and the rest from tokenizer_config.json.
_GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")
_WITHOUT_SEGMENTS = (
    *("DistilBertTokenizer", "DistilBertTokenizerFast"),
    *_GENERIC,
)
# The values with which text is split as by BERT's tokenizer.
_CHOICES = {
    "tokenizer_class": (
        *("BertTokenizer", "BertTokenizerFast"),
        *("ElectraTokenizer", "ElectraTokenizerFast"),
        *_WITHOUT_SEGMENTS,
    ),
    "word_tokenizer_type": ("basic",),
    "subword_tokenizer_type": ("wordpiece",),
    "do_basic_tokenize": (True,),
    "do_subword_tokenize": (True,),
}
# Of a word, for the classes of BERT.
_MAX_CHARS = 100
_NAMES = [f"{name}_token" for name in SpecialTokens._fields]
_EXTRA = ("additional_special_tokens", "extra_special_tokens")
_SPECIAL = {*_NAMES, *_EXTRA, "bos_token", "eos_token"}
# These change no token of one text or pair.
_HARMLESS = set(
    """_commit_hash _from_auto _name_or_path add_prefix_space auto_map backend
    cache_dir chat_template clean_up_tokenization_spaces device_map errors
    from_slow full_tokenizer_file is_local language local_files_only max_len
    max_length name_or_path never_split pad_to_multiple_of pad_token_type_id
    padding padding_side processor_class return_tensors revision
    special_tokens_map_file stride token tokenizer_file transformers_version
    truncation truncation_strategy trust_remote_code use_auth_token use_fast
    verbose vocab_file""".split()
)
_KEYS = {
    *(*_OLD_KEYS, *_CHOICES, *_SPECIAL, *_HARMLESS, "added_tokens_decoder"),
    *("model_input_names", "truncation_side", OURS),
}
# A key with one of these turns nothing on.
_NOTHING: tuple[Any, ...] = (None, False, "", [], {})
_KEYS_OF_JSON = {
    *("version", "truncation", "padding", "added_tokens", "normalizer"),
    *("pre_tokenizer", "post_processor", "decoder", "model"),
}
_TYPES = {
    "model": "WordPiece",
    "normalizer": "BertNormalizer",
    "pre_tokenizer": "BertPreTokenizer",
}
# What a normalizer calls the settings.
_CASE = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}


def vocab_in(folder: Path) -> Path | None:
    """Returns the file with the vocabulary of a folder, if there is one.

    Raises InputError if its `tokenizer_config.json` is damaged.
    """
    files = [folder / _JSON, folder / _VOCAB]
    if _is_ours(read_json(folder / _CONFIG, is_needed=False)):
        files.reverse()
    return next((file for file in files if file.is_file()), None)


def read_values(folder: Path, file: Path | None = None) -> dict[str, Any]:
    """Returns the fields of `TokenizerSettings` that a folder tells, as JSON.

    Args:
        folder: The folder.
        file: A `tokenizer.json` to read, and nothing else.

    Raises:
        InputError: If a file is damaged, or tells what cannot be done here.
    """
    config, beside, special, added = (
        {} if file else read_json(folder / name, is_needed=False)
        for name in (_CONFIG, "config.json", _MAP, _ADDED)
    )
    check_tokenizer_class(beside, folder / "config.json")
    check_tokenizer_class(config, folder / _CONFIG)
    _check_keys(config, _KEYS, folder / _CONFIG)
    _check_keys(special, _SPECIAL, folder / _MAP)
    is_of_hub = file or any((folder / name).is_file() for name in _OF_HUB)
    with _damage_named(file or folder):
        if _is_ours(config) or not is_of_hub:
            return {**config, **config.get(OURS, {})}
        file = file or folder / _JSON
        told = _read(file) if file.is_file() else {}
        name = config.get("tokenizer_class") or beside.get("tokenizer_class")
        # Without tokenizer_config.json, nothing else tells.
        is_generic = bool(told) and (name in _GENERIC or not config)
        decoder = config.get("added_tokens_decoder")
        own = config
        if decoder is None:
            config = {**config, **special}
        names = dict(zip(_NAMES, SPECIAL_TOKENS, strict=True))
        names |= {x: config[x] for x in _NAMES if config.get(x)}
        values = {"is_of_hub": True, "max_input_chars_per_word": _MAX_CHARS}
        segment = 1
        if is_generic:
            model, (ends, segment) = told["model"], _ends(told, file)
            names |= ends
            if "unk_token" in model:
                names["unk_token"] = model["unk_token"]
            values |= _case(told, file)
            values |= {x: model[x] for x in values.keys() & model.keys()}
        else:
            values |= {x: config[x] for x in _CASE.values() if x in config}
            if told:
                values.setdefault("do_lower_case", True)
        inputs = config.get("model_input_names")
        if inputs is None:
            inputs = [] if name in _WITHOUT_SEGMENTS else ["token_type_ids"]
        truncation = told.get("truncation") or {}
        side = truncation.get("direction", "right").lower()
        special_tokens = [_special(x) for x in names.values()]
        found = {}
        if is_generic or decoder is None:
            found = _old_tokens(added, [*special_tokens, *_extra(own)])
            found |= {x["content"]: x for x in told.get("added_tokens") or ()}
        for id_, x in (decoder or {}).items():
            found[x["content"]] = {**x, "id": int(id_)}
        if told:
            ids = told["model"]["vocab"]
        else:
            lines = read_lines(folder / _VOCAB, is_of_hub=True)
            ids = {piece: i for i, piece in enumerate(lines)}
        return values | {
            "special_tokens": [x["content"] for x in special_tokens],
            "second_segment": segment * ("token_type_ids" in inputs),
            "truncation_side": config.get("truncation_side") or side,
            "added_tokens": _added_tokens(found, special_tokens, config, ids),
        }


def read_pieces(file: Path) -> list[str]:
    """Returns the word pieces of a `tokenizer.json` in the order of their ids.

    Tokens that were added behind them are not among them. Raises InputError if
    the file is damaged, or the tokenizer is not BERT's.
    """
    with _damage_named(file):
        values = _read(file)
        ids = dict(values["model"]["vocab"])
        last = max(ids.values(), default=-1)
        added = values.get("added_tokens") or ()
        ids |= {x["content"]: x["id"] for x in added if x["id"] < last}
        if sorted(ids.values()) != [*range(len(ids))]:
            raise ValueError("the ids of the word pieces have gaps")
    return sorted(ids, key=ids.__getitem__)


def read_lines(file: Path, *, is_of_hub: bool = False) -> list[str]:
    """Returns the word pieces of a `vocab.txt`.

    As in google-research/bert, lines end with LF, and white space around a
    piece is removed. Of the Hub, they end with LF, CR or both, and white space
    stays, as in transformers.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"The vocabulary {file} is not UTF-8 ({error}); copy it again, or "
            "convert it to UTF-8."
        ) from error
    if is_of_hub:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n")
    if is_of_hub:
        return lines
    # A released vocabulary has a U+2028 as a piece; it matches no text.
    return [line.strip() or line.removesuffix("\r") for line in lines]


def check_tokenizer_class(values: Mapping[str, Any], file: str | Path) -> None:
    """Raises InputError if a config of Hugging Face names another tokenizer."""
    for name, choices in _CHOICES.items():
        if values.get(name) not in (None, *choices):
            raise InputError(
                f"{file} has {name}: {values[name]!r}, which splits text in "
                "another way than the tokenizer of BERT; give a checkpoint "
                "with a BertTokenizer."
            )


def hub_files(tokenizer: Any, model_max_length: int) -> dict[str, str]:
    """A tokenizer -> the text files from which transformers makes it.

    There, the names of special tokens in a text are these tokens.
    """
    settings = tokenizer.settings
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    if not settings.second_segment:
        inputs.remove("token_type_ids")
    # A BertTokenizer would not read this from tokenizer.json.
    is_of_bert = settings.max_input_chars_per_word == _MAX_CHARS
    config = settings.to_json(
        model_max_length,
        tokenizer_class="BertTokenizer" if is_of_bert else _GENERIC[0],
        model_input_names=inputs,
        truncation_side=settings.truncation_side,
        **dict(zip(_NAMES, settings.special_tokens, strict=True)),
    )
    return {
        _VOCAB: "\n".join(tokenizer.pieces) + "\n",
        _CONFIG: config,
        _JSON: tokenizer_json(tokenizer, tokenizer.found_in_text(True)),
    }


def tokenizer_json(tokenizer: Any, added: Sequence[AddedToken] = ()) -> str:
    """A tokenizer -> the text of a `tokenizer.json`, for many languages.

    It adds [CLS] and [SEP], and neither truncates nor pads; the `added` tokens
    are found in a text before it is split. The ids are those of this package,
    except in texts with some rare characters: ideographs of extension E, and
    punctuation of Unicode 11 and newer.
    """
    settings = tokenizer.settings
    special, segment = settings.special_tokens, settings.second_segment
    ids = {special.cls: tokenizer.cls_id, special.sep: tokenizer.sep_id}
    values: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            token._asdict() for token in sorted(added, key=lambda x: x.id)
        ],
        "normalizer": _normalizer(
            settings.do_lower_case,
            settings.strips_accents,
            settings.tokenize_chinese_chars,
        ),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": _post_processor(
            special.cls, special.sep, ids, segment, is_template=not segment
        ),
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": special.unk,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": settings.max_input_chars_per_word,
            "vocab": {x: i for i, x in enumerate(tokenizer.pieces)},
        },
    }
    return to_json(values)


def _is_ours(config):
    return OURS in config or config.keys() == _OLD_KEYS


def _check_keys(values, known, file):
    for name in values.keys() - known:
        if values[name] not in _NOTHING:
            raise _refusal(file, name, values[name])


def _special(token):
    """Returns the fields of a special token, which may be a name."""
    if isinstance(token, str):
        token = {"content": token}
    return {"normalized": False, **token, "special": True}


def _extra(config):
    for name in _EXTRA:
        tokens = config.get(name) or ()
        tokens = tokens.values() if isinstance(tokens, Mapping) else tokens
        yield from map(_special, tokens)


def _old_tokens(ids, special_tokens):
    """Returns the fields of the tokens of an `added_tokens.json`."""
    special = {token["content"] for token in special_tokens}
    return {
        content: {
            "content": content,
            "id": id_,
            "normalized": content not in special,
            "special": content in special,
        }
        for content, id_ in ids.items()
    }


def _added_tokens(found, special_tokens, config, ids):
    """Adds the special tokens; returns all in the order of their ids."""
    ends = (config.get(x) for x in ("bos_token", "eos_token"))
    for token in (*special_tokens, *map(_special, filter(None, ends))):
        if token["content"] in ids:
            found.setdefault(
                token["content"], token | {"id": ids[token["content"]]}
            )
    for token in _extra(config):
        if token["content"] not in found:
            used = (*ids.values(), *(x["id"] for x in found.values()))
            id_ = ids.get(token["content"], max(used) + 1)
            found[token["content"]] = token | {"id": id_}
    names = AddedToken._fields
    tokens = [
        AddedToken(**{name: x[name] for name in names if name in x})
        for x in found.values()
        if x["content"]
    ]
    usual = [
        AddedToken(
            x["content"], ids.get(x["content"]), normalized=False, special=True
        )
        for x in special_tokens
    ]
    tokens = [token for token in tokens if token not in usual]
    return [x._asdict() for x in sorted(tokens, key=lambda x: x.id)]


def _read(file):
    """Returns the values of a `tokenizer.json` of BERT."""
    with _damage_named(file):
        values = json.loads(file.read_bytes())
        _check_keys(values, _KEYS_OF_JSON, file)
        model = values["model"]
        types = {
            x: (values[x] or {}).get("type") for x in values.keys() & _TYPES
        }
        if types.get("normalizer") == "Sequence":
            _case(values, file)
            del types["normalizer"]
        # Files from before 2021 do not have the type of the model.
        if "max_input_chars_per_word" in model:
            types["model"] = model.get("type", "WordPiece")
        for name, expected in _TYPES.items():
            if types.get(name, expected) != expected:
                raise InputError(
                    f"The {name} of {file} is {types[name]}, but that of BERT "
                    f"is {expected}, which splits text in another way; give a "
                    "checkpoint with a tokenizer of BERT."
                )
        known = {"type", "unk_token", "vocab", "max_input_chars_per_word"}
        if model.get("continuing_subword_prefix") == "##":
            known.add("continuing_subword_prefix")
        _check_keys(model, known, file)
    return values


def _case(told, file):
    """Returns what the normalizer of a `tokenizer.json` tells."""
    normalizer = told.get("normalizer", {})
    for case in itertools.product([True, False], repeat=3):
        if normalizer == _normalizer(*case):
            return dict(zip(_CASE.values(), case, strict=True))
    if normalizer.get("type") == "Sequence":
        if len(normalizer["normalizers"]) != 1:
            raise _refusal(file, "normalizer", normalizer)
        (normalizer,) = normalizer["normalizers"]
        if normalizer["type"] != "BertNormalizer":
            raise _refusal(file, "normalizer", normalizer)
    if normalizer.get("clean_text", True) is not True:
        raise _refusal(file, "clean_text", normalizer["clean_text"])
    _check_keys(normalizer, {"type", "clean_text", *_CASE}, file)
    return {_CASE[x]: normalizer[x] for x in _CASE.keys() & normalizer.keys()}


def _ends(told, file):
    """Returns the names of [CLS] and [SEP], and the second text's segment."""
    found = told.get("post_processor", {})
    if found == {}:
        return {}, 1
    ids = {x["content"]: x["id"] for x in told.get("added_tokens") or ()}
    ids |= told["model"]["vocab"]
    is_template = "single" in (found or {})
    if is_template:
        cls, sep = (
            found["single"][i].get("SpecialToken", {}).get("id")
            for i in (0, -1)
        )
    else:
        cls, sep = ((found or {}).get(x, [None])[0] for x in ("cls", "sep"))
    if cls in ids and sep in ids:
        for segment in (1, 0):
            if found == _post_processor(cls, sep, ids, segment, is_template):
                return {"cls_token": cls, "sep_token": sep}, segment
    raise _refusal(file, "post_processor", found)


def _post_processor(cls, sep, ids, segment, is_template):
    if not is_template:
        found = {"cls": [cls, ids[cls]], "sep": [sep, ids[sep]]}
        return {"type": "BertProcessing", **found} if segment else None

    def special(name, type_id):
        return {"SpecialToken": {"id": name, "type_id": type_id}}

    def text(name, type_id):
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [special(cls, 0), text("A", 0), special(sep, 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", segment), special(sep, segment)],
        "special_tokens": {
            x: {"id": x, "ids": [ids[x]], "tokens": [x]} for x in (cls, sep)
        },
    }


def _normalizer(lowers, strips_accents, handles_chinese_chars):
    # The cleaning and the removal of accents that are built into `tokenizers`
    # treat private characters and some scripts differently.
    normalizers = [
        _replace(r"[\t\n\r\p{Zs}]", " "),
        _replace(r"[\p{Cc}\p{Cf}\x{FFFD}]", ""),
        {
            "type": "BertNormalizer",
            "clean_text": False,
            "handle_chinese_chars": handles_chinese_chars,
            "strip_accents": False,
            "lowercase": lowers,
        },
    ]
    if strips_accents:
        normalizers += [{"type": "NFD"}, _replace(r"\p{Mn}", "")]
    return {"type": "Sequence", "normalizers": normalizers}


def _replace(pattern, content):
    pattern = {"Regex": pattern}
    return {"type": "Replace", "pattern": pattern, "content": content}


def _refusal(file, name, value):
    shown = reprlib.repr(value)
    return InputError(
        f"{file} has {name}: {shown}, which this package cannot do; remove it "
        "if it changes no token, or give another tokenizer."
    )


@contextlib.contextmanager
def _damage_named(path):
    try:
        yield
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is not a tokenizer of BERT ({error!r}); give a vocab.txt."
        ) from error

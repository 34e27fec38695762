"""The files of a folder -> its vocabulary and the settings of its tokenizer.

The files are read as transformers 5's AutoTokenizer reads them. The vocabulary
is in `tokenizer.json`, `vocab.txt` or a file of another format. The settings
are in `tokenizer_config.json`, `special_tokens_map.json`, `added_tokens.json`
and `config.json`. Each key of `tokenizer_config.json` and
`special_tokens_map.json` is used, is known to change nothing, or is refused.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.whole_files import read_json
from keras_bert.text.tokenizer_json import (
    Known,
    TokenizerJson,
    check_keys,
    damage_named,
    tokenizer_json,
)
from keras_bert.text.tokenizer_settings import (
    CASE,
    OURS,
    SPECIAL_TOKENS,
    AddedToken,
    SpecialTokens,
    TokenizerSettings,
)
from keras_bert.text.tokenizer_sources import (
    CONFIG,
    SENTENCEPIECE,
    VOCAB_JSON,
    read_tokenizer,
)

_JSON, _VOCAB = "tokenizer.json", "vocab.txt"
_MODEL, _ADDED = "config.json", "added_tokens.json"
_MAP = "special_tokens_map.json"
# These classes follow tokenizer.json. BERT's classes read only the pieces and
# the added tokens from it, and the rest from tokenizer_config.json.
_GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")


def _slow_and_fast(*names: str) -> tuple[str, ...]:
    return (*names, *(f"{name}Fast" for name in names))


_OF_BYTES = _slow_and_fast("RobertaTokenizer")
_OF_XLM = _slow_and_fast("XLMRobertaTokenizer")
_WITHOUT_WORD_PIECES = (*_OF_BYTES, *_OF_XLM)
_OF_MPNET = _slow_and_fast("MPNetTokenizer")
_WITH_TWO_SEPARATORS = (*_OF_MPNET, *_WITHOUT_WORD_PIECES)
_OF_DISTILBERT = _slow_and_fast("DistilBertTokenizer")
_WITHOUT_SEGMENTS = (*_OF_DISTILBERT, *_WITH_TWO_SEPARATORS, *_GENERIC)
# The tokenizer classes of families, for folders in which no file names a class.
# All other families have BERT's class.
_CLASS_OF_FAMILY = {
    "distilbert": "DistilBertTokenizer",
    "mpnet": "MPNetTokenizer",
    "roberta": "RobertaTokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
# The values that this package supports. Another value may change the tokens.
_CHOICES = {
    "tokenizer_class": (
        *_slow_and_fast("BertTokenizer", "ElectraTokenizer"),
        *_WITHOUT_SEGMENTS,
    ),
    "word_tokenizer_type": ("basic",),
    "subword_tokenizer_type": ("wordpiece",),
    "do_basic_tokenize": (True,),
    "do_subword_tokenize": (True,),
}
# The longest word, in characters, for BERT's classes.
_MAX_CHARS = 100
_NAMES = [f"{name}_token" for name in SpecialTokens._fields]
_NAMES_OF_ROBERTA = SpecialTokens("<pad>", "<unk>", "<s>", "</s>", "<mask>")
_NAMES_OF_MPNET = _NAMES_OF_ROBERTA._replace(unk="[UNK]")
_EXTRA = ("additional_special_tokens", "extra_special_tokens")
_SPECIAL: Known = dict.fromkeys([*_NAMES, *_EXTRA, "bos_token", "eos_token"])
_SEGMENTS = ["token_type_ids"]
_KEYS_OF_HUB = ("added_tokens_decoder", "model_input_names", *_SPECIAL)
_KEYS_OF_OURS: Known = dict.fromkeys(
    field.name for field in dataclasses.fields(TokenizerSettings)
)
# These settings stay when transformers loads and saves our files.
_ONLY_OURS = ("special_tokens_in_text",)
# transformers adds one of these keys when it saves a tokenizer.
_OF_TRANSFORMERS = """
    added_tokens_decoder backend clean_up_tokenization_spaces name_or_path
""".split()
# The keys that `TokenizerSettings.to_json` has always written.
_OLD_KEYS = {*CASE, "model_max_length", "tokenizer_class"}
_USED = ("truncation_side", OURS, *_OLD_KEYS, *_CHOICES, *_KEYS_OF_HUB)
# Keys that do not change the tokens of a text or a pair.
_HARMLESS = """
    _commit_hash _from_auto _name_or_path add_prefix_space auto_map backend
    cache_dir chat_template clean_up_tokenization_spaces device_map errors
    from_slow full_tokenizer_file is_local language local_files_only max_len
    max_length name_or_path never_split pad_to_multiple_of pad_token_type_id
    padding padding_side processor_class return_tensors revision
    sp_model_kwargs special_tokens_map_file stride token tokenizer_file
    transformers_version trim_offsets
    truncation truncation_strategy trust_remote_code use_auth_token use_fast
    verbose vocab_file""".split()
_KEYS: Known = dict.fromkeys([*_USED, *_HARMLESS])


def vocab_in(folder: Path) -> Path | None:
    """Returns the file in a folder that contains the vocabulary, or None.

    Raises InputError if the folder's `tokenizer_config.json` is damaged.
    """
    names = [_JSON, _VOCAB, SENTENCEPIECE, VOCAB_JSON]
    if _is_ours(read_json(folder / CONFIG, is_needed=False)):
        names.insert(0, _VOCAB)
    files = (folder / name for name in names)
    return next((file for file in files if file.is_file()), None)


def read_values(folder: Path, file: Path | None = None) -> dict[str, Any]:
    """Returns JSON values of the `TokenizerSettings` in a folder's files.

    Args:
        folder: The folder with the files.
        file: The only file to read, a `tokenizer.json`; by default, all files
            are read.

    Raises:
        InputError: If a file is damaged, or has a setting that this package
            does not support.
    """
    config, model, special, added = (
        {} if file else read_json(folder / name, is_needed=False)
        for name in (CONFIG, _MODEL, _MAP, _ADDED)
    )
    _check_choices(model, folder / _MODEL)
    _check_choices(config, folder / CONFIG)
    check_keys(config, _KEYS, folder / CONFIG)
    check_keys(special, _SPECIAL, folder / _MAP)
    file = file or vocab_in(folder) or folder / _VOCAB
    name = _class_name(file, config, model)
    if name in _WITHOUT_WORD_PIECES and file.name == _VOCAB:
        raise _refused_choice(folder / CONFIG, "tokenizer_class", name)
    # The folders of google-research/bert have none of these files and keys.
    of_hub = (folder / name for name in (_JSON, _ADDED, _MAP, _MODEL))
    is_of_hub = file.name != _VOCAB or any(x.is_file() for x in of_hub)
    is_of_hub |= any(config.get(x) is not None for x in _KEYS_OF_HUB)
    with damage_named(file):
        ours = config.get(OURS, {})
        check_keys(ours, _KEYS_OF_OURS, folder / CONFIG)
        if _is_ours(config):
            return _values_of_ours(config, ours)
        if not (ours or is_of_hub):
            return config
        values = _values_of_hub(file, name, config, special, added)
        return values | {x: ours[x] for x in _ONLY_OURS if x in ours}


def read_pieces(file: Path, *, is_of_hub: bool = False) -> list[str]:
    """Returns the word pieces of a `vocab.txt`.

    As in google-research/bert, lines end with LF, and white space around a
    piece is removed. In a Hub file, as in transformers, lines end with LF, CR
    or both, and white space is kept.
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
    # One released vocabulary has U+2028 as a piece, which matches no text.
    return [line.strip() or line.removesuffix("\r") for line in lines]


def hub_files(tokenizer: Any, model_max_length: int) -> dict[str, str]:
    """Returns the text of files that transformers can read, by file name.

    With these files, the name of a special token in a text always becomes that
    token, as usual in transformers.
    """
    settings = tokenizer.settings
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    if not settings.second_segment:
        inputs.remove("token_type_ids")
    # In transformers, a BertTokenizer always has this limit for a word, and one
    # [SEP] between the texts of a pair.
    is_of_bert = settings.max_input_chars_per_word == _MAX_CHARS
    is_of_bert &= not tokenizer.json and settings.pair_separators == 1
    config = settings.to_json(
        model_max_length,
        tokenizer_class="BertTokenizer" if is_of_bert else _GENERIC[0],
        model_input_names=inputs,
        truncation_side=settings.truncation_side,
        **dict(zip(_NAMES, settings.special_tokens, strict=True)),
    )
    files = {
        CONFIG: config,
        _JSON: tokenizer_json(tokenizer, tokenizer.found_in_text(True)),
    }
    if tokenizer.json:
        return files
    return files | {_VOCAB: "\n".join(tokenizer.pieces) + "\n"}


def _class_name(file: Path, config: dict, model: dict) -> str | None:
    """Returns the name of the class that transformers 5 would choose."""
    family = model.get("model_type") or ""
    # Some folders of this family name a wrong class.
    if family == "modernbert":
        return _GENERIC[0]
    name = config.get("tokenizer_class") or model.get("tokenizer_class")
    if not (name or family) and config and file.name != _VOCAB:
        return _GENERIC[0]
    return name or _CLASS_OF_FAMILY.get(family)


def _values_of_ours(config: dict, ours: dict) -> dict[str, Any]:
    """Returns the values under our key; Hugging Face's keys take precedence."""
    values = {**ours, **config}
    names = zip(_NAMES, ours.get("special_tokens", SPECIAL_TOKENS), strict=True)
    tokens = [_special(config.get(x) or name) for x, name in names]
    values["special_tokens"] = [x.content for x in tokens]
    if "token_type_ids" not in config.get("model_input_names", _SEGMENTS):
        values["second_segment"] = 0
    return values


def _values_of_hub(
    file: Path, class_name: str | None, config: dict, special: dict, added: dict
) -> dict[str, Any]:
    json = None if file.name == _VOCAB else read_tokenizer(file)
    if json and class_name in _WITHOUT_WORD_PIECES:
        _check_class(json, class_name, config)
    is_of_bert = not json or json.is_of_bert
    # Without tokenizer_config.json, tokenizer.json decides.
    is_generic = json and (
        class_name in _GENERIC or not config or not is_of_bert
    )
    # The names of the special tokens.
    decoder, extra = config.get("added_tokens_decoder"), [*_extra(config)]
    if decoder is None:
        config = {**config, **special}
    has_names = not json or SPECIAL_TOKENS.cls in [
        *json.vocab,
        *(x.content for x in json.added_tokens),
    ]
    usual = SPECIAL_TOKENS if has_names else _NAMES_OF_ROBERTA
    if class_name in _OF_MPNET:
        usual = _NAMES_OF_MPNET
    names = dict(zip(_NAMES, usual, strict=True))
    names |= {x: config[x] for x in _NAMES if config.get(x)}
    # The settings.
    values: dict[str, Any] = {"max_input_chars_per_word": _MAX_CHARS}
    if class_name in _WITH_TWO_SEPARATORS:
        values["pair_separators"] = 2
    if not is_of_bert:
        values["do_lower_case"] = False
    segment = 1
    if json and is_generic:
        steps = json.read_steps()
        names |= {x: steps.pop(x) for x in _NAMES if x in steps}
        segment = steps.pop("second_segment", segment)
        values |= steps
    else:
        if json:
            values["do_lower_case"] = True
        values |= {x: config[x] for x in CASE if x in config}
    inputs = config.get("model_input_names")
    if inputs is None:
        inputs = [] if class_name in _WITHOUT_SEGMENTS else _SEGMENTS
    # The added tokens.
    special_tokens = [_special(x) for x in names.values()]
    told: list[AddedToken] = []
    if is_generic or decoder is None:
        are_special = {x.content for x in (*special_tokens, *extra)}
        for content, id_ in added.items():
            flags = {"special": content in are_special}
            flags["normalized"] = not flags["special"]
            told.append(AddedToken(content, id_, **flags))
        told += json.added_tokens if json else ()
    for id_, fields in (decoder or {}).items():
        told.append(AddedToken.of({**fields, "id": int(id_)}))
    if json:
        ids = json.vocab
    else:
        pieces = read_pieces(file, is_of_hub=True)
        ids = {piece: i for i, piece in enumerate(pieces)}
    side = json.truncation_side if json else "right"
    return values | {
        "is_of_hub": True,
        "special_tokens": [x.content for x in special_tokens],
        "second_segment": segment * ("token_type_ids" in inputs),
        "truncation_side": config.get("truncation_side") or side,
        "added_tokens": _added_tokens(told, special_tokens, config, ids),
    }


def _check_class(json: TokenizerJson, class_name: str, config: dict) -> None:
    """Raises InputError if libraries disagree about a tokenizer.json."""
    if config and json.is_of_bert:
        raise InputError(
            f"{json.file} has word pieces, but the tokenizer_class is "
            f"{class_name}, so libraries disagree about the ids; write the "
            f"class used in training, such as BertTokenizer, into {CONFIG}."
        )
    adds_space = bool(config.get("add_prefix_space", class_name in _OF_XLM))
    # A file without a pre-tokenizer is refused when it is used.
    if json.values.get("pre_tokenizer") and json.adds_space != adds_space:
        raise InputError(
            f"{json.file} has add_prefix_space: {json.adds_space}, but "
            f"{CONFIG} says {adds_space}, so libraries disagree about the ids "
            "of the first word of a text; write the value used in training "
            "into both files."
        )


def _added_tokens(
    told: list[AddedToken], special: list[AddedToken], config: dict, ids: dict
) -> list[dict]:
    """Returns the fields of all added tokens, in the order of their ids.

    These are the tokens in `told`, in `special` and in `config`, except special
    tokens with their usual flags.
    """
    tokens = {x.content: x for x in told}
    ends = (config.get(x) for x in ("bos_token", "eos_token"))
    for token in (*special, *map(_special, filter(None, ends))):
        if (id_ := ids.get(token.content)) is not None:
            tokens.setdefault(token.content, token._replace(id=id_))
    for token in _extra(config):
        next_id = 1 + max((*ids.values(), *(x.id for x in tokens.values())))
        id_ = ids.get(token.content, next_id)
        tokens.setdefault(token.content, token._replace(id=id_))
    # Every tokenizer has these tokens, so they need not be listed.
    usual = [
        _special(x.content)._replace(id=ids.get(x.content, -1)) for x in special
    ]
    added = [x for x in tokens.values() if x.content and x not in usual]
    return [x._asdict() for x in sorted(added, key=lambda x: x.id)]


def _extra(config: dict) -> Iterator[AddedToken]:
    for name in _EXTRA:
        tokens = config.get(name) or ()
        tokens = tokens.values() if isinstance(tokens, Mapping) else tokens
        yield from map(_special, tokens)


def _special(token: str | dict) -> AddedToken:
    added = AddedToken.of(token, id=-1, normalized=False)
    return added._replace(special=True)


def _check_choices(values: dict, file: Path) -> None:
    for name, choices in _CHOICES.items():
        if values.get(name) not in (None, *choices):
            raise _refused_choice(file, name, values[name])


def _refused_choice(file: Path, name: str, value: Any) -> InputError:
    return InputError(
        f"{file} has {name}: {value!r}, which does not match its vocabulary; "
        "give the tokenizer.json of the checkpoint."
    )


def _is_ours(config: dict) -> bool:
    if OURS not in config:
        return config.keys() == _OLD_KEYS
    # transformers copies our key, although its tokenizer may have changed.
    return config.keys().isdisjoint(_OF_TRANSFORMERS)

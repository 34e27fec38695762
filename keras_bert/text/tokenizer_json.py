"""A `tokenizer.json` <-> the steps of a BERT tokenizer, one by one.

The steps are a normalizer, a pre-tokenizer, a model, a post-processor, and the
added tokens. Each key is used, is known to change nothing, or is refused.
"""

import contextlib
import itertools
import json
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from keras_bert.errors import InputError
from keras_bert.text.tokenizer_settings import AddedToken

# Keys -> the values that they may have besides null; None allows any value.
Known = Mapping[str, Sequence[Any] | None]
# An unknown key is accepted with one of these values, which turn nothing on.
_NOTHING: tuple[Any, ...] = (None, False, "", [], {})
_KEYS: Known = dict.fromkeys(
    """added_tokens decoder model normalizer padding post_processor
    pre_tokenizer truncation version""".split()
)
_KEYS_OF_MODEL: Known = {
    **dict.fromkeys("type unk_token vocab max_input_chars_per_word".split()),
    "continuing_subword_prefix": ("##",),
}
# A normalizer's names for the settings -> our names.
_CASE = {
    "lowercase": "do_lower_case",
    "strip_accents": "strip_accents",
    "handle_chinese_chars": "tokenize_chinese_chars",
}
_KEYS_OF_NORMALIZER: Known = {
    **dict.fromkeys(["type", *_CASE]),
    "clean_text": (True,),
}
_TYPES = {
    "model": "WordPiece",
    "normalizer": "BertNormalizer",
    "pre_tokenizer": "BertPreTokenizer",
}
# The segment id of the second text, and the number of [SEP] tokens between two
# texts -> the type of the post-processor that adds them. A template can add
# them too.
_PROCESSORS = {(1, 1): "BertProcessing", (0, 2): "RobertaProcessing"}
# These keys of a post-processor change no id.
_OF_OFFSETS = ("trim_offsets", "add_prefix_space")
# Models other than WordPiece -> the keys that they may have.
_OTHER_MODELS: Mapping[str, Known] = {
    "Unigram": dict.fromkeys(["type", "unk_id", "vocab"]),
    "BPE": dict.fromkeys(["type", "unk_token", "vocab", "merges"]),
}
# The score of a new piece is at least this much above the sum of its parts'
# scores.
_MORE = 0.1


class _Ends(NamedTuple):
    """What a post-processor adds to a text or a pair."""

    cls_token: str
    sep_token: str
    second_segment: int
    pair_separators: int


class TokenizerJson:
    """A `tokenizer.json` with the steps of BERT or of another known family.

    Attributes:
        values: The values of the file.
        vocab: A mapping from pieces to ids.
        added_tokens: The tokens that were added to the vocabulary.
        truncation_side: The side on which a long text is cut.
        is_of_bert: Whether the model is WordPiece.

    Raises:
        InputError: If the file is damaged, or a step is not known.
    """

    def __init__(self, file: Path, values: dict[str, Any] | None = None):
        """Reads `file`, or takes `values` as its content."""
        self.file = file
        with damage_named(file):
            self.values = values or json.loads(file.read_bytes())
            self.model = self.values["model"]
            self.is_of_bert = self.model.get("type") not in _OTHER_MODELS
            self.vocab = self.model.get("vocab")
            if self.model.get("type") == "Unigram":
                # A space hides special tokens in files that this package wrote.
                pairs = [
                    [x.removesuffix(" "), score] for x, score in self.vocab
                ]
                self.model = self.model | {"vocab": pairs}
                pieces = [piece for piece, _ in pairs]
                self.vocab = {x: i for i, x in enumerate(pieces)}
                if len(self.vocab) < len(pieces):
                    raise ValueError("two pieces are equal")
                if not isinstance(self.model["unk_id"], int):
                    raise TypeError("unk_id is not a number")
                pieces[self.model["unk_id"]]
                sum(score for _, score in self.model["vocab"])
            elif self.model.get("type") == "BPE":
                self.model["merges"][0]
            added = self.values.get("added_tokens") or ()
            self.added_tokens = [AddedToken.of(x) for x in added]
            truncation = self.values.get("truncation") or {}
            self.truncation_side = truncation.get("direction", "right").lower()
            check_keys(self.values, _KEYS, file)
            if self.is_of_bert:
                self._check()
            else:
                check_keys(self.model, _OTHER_MODELS[self.model["type"]], file)

    def sequence(self, step: str, name: str) -> list[dict[str, Any]]:
        """Returns the steps in a Sequence, or a list of the one step."""
        values = self.values.get(step)
        if values and values.get("type") == "Sequence":
            return list(values[name])
        return [values] if values else []

    def with_vocab(self, vocab: Sequence[str], num_pieces: int) -> Self:
        """Returns a copy with only the pieces in `vocab`, which get new ids.

        The first `num_pieces` of `vocab` are the pieces of the model; the
        others are only added tokens.

        Raises InputError if pieces depend on each other, as in BPE.
        """
        if self.model["type"] == "BPE":
            raise InputError(
                f"{self.file} has a BPE model, whose pieces are built from "
                "each other, so none can be removed; give a tokenizer with "
                "another model."
            )
        ids = _ids_of(vocab)
        added = [
            x | {"id": ids[x["content"]]} for x in self.values["added_tokens"]
        ]
        model = _with_pieces(self.model, vocab[:num_pieces])
        values: dict[str, Any] = {"model": model, "added_tokens": added}
        if ends := self.read_post_processor():
            processor = self.values["post_processor"]
            is_template = "single" in processor
            values["post_processor"] = processor | _post_processor(
                _Ends(**ends), ids, is_template=is_template
            )
        return type(self)(self.file, self.values | values)

    def with_joins(
        self, joins: Mapping[str, Sequence[str]], first_id: int
    ) -> Self:
        """Returns a copy with new pieces, which join old pieces.

        In a Unigram model, the score of a new piece is a little higher than the
        sum of its parts' scores, so it is chosen where its parts were chosen
        before. In BPE, a new piece has two parts, which are joined after all
        old merges.

        Raises InputError if the model is neither Unigram nor BPE, or if added
        tokens have the ids that the new pieces would get.
        """
        model = dict(self.model)
        if model["type"] == "BPE":
            ids = dict(model["vocab"])
            ids |= {x: i for i, x in enumerate(joins, start=first_id)}
            is_text = isinstance(model["merges"][0], str)
            merges = [" ".join(x) if is_text else [*x] for x in joins.values()]
            model |= {"vocab": ids, "merges": [*model["merges"], *merges]}
        elif model["type"] == "Unigram" and len(model["vocab"]) == first_id:
            scores = dict(model["vocab"])
            for i, (piece, parts) in enumerate(joins.items()):
                # Earlier pieces get a larger bonus, so that no two splits of a
                # word are equally good.
                more = _MORE * (2 - i / len(joins))
                scores[piece] = sum(scores[x] for x in parts) + more
            model["vocab"] = [[*x] for x in scores.items()]
        else:
            raise InputError(
                f"No piece can be added to {self.file}; give a checkpoint "
                "with a WordPiece or BPE tokenizer, or with a Unigram "
                "tokenizer that has no added tokens after its pieces."
            )
        return type(self)(self.file, self.values | {"model": model})

    @property
    def adds_space(self) -> bool:
        """Whether a space is put before a text that begins without one."""
        steps = self.sequence("pre_tokenizer", "pretokenizers")
        # A Metaspace that adds no space is not supported.
        return any(
            x.get("add_prefix_space") or x["type"] == "Metaspace" for x in steps
        )

    @property
    def pieces_to_keep(self) -> set[str]:
        """The pieces without which words would be split differently.

        In a Unigram model, the lowest score determines the score of unknown
        characters.
        """
        if self.model["type"] != "Unigram":
            return set()
        return {min(self.model["vocab"], key=lambda x: x[1])[0]}

    def _check(self) -> None:
        for step in self.values.keys() & _TYPES:
            expected, values = _TYPES[step], self.values[step] or {}
            kind = values.get("type")
            if step == "normalizer" and kind == "Sequence":
                self.read_normalizer()
                continue
            # Files from before 2021 do not name the type of the model.
            if step == "model" and "max_input_chars_per_word" in values:
                kind = kind or expected
            if kind != expected:
                raise InputError(
                    f"The {step} of {self.file} is {kind}, but BERT's is "
                    f"{expected}, so BERT would split text differently; give a "
                    "checkpoint with a BERT tokenizer."
                )
        check_keys(self.model, _KEYS_OF_MODEL, self.file)

    def read_steps(self) -> dict[str, Any]:
        """Returns the settings and special tokens in the steps, by name."""
        values = self.read_post_processor()
        if self.is_of_bert:
            names = ("max_input_chars_per_word", "unk_token")
            model = {x: self.model[x] for x in names if x in self.model}
            values |= self.read_normalizer() | model
        return values

    @property
    def pieces(self) -> list[str]:
        """The word pieces in the order of their ids.

        Added tokens with higher ids are left out.
        """
        with damage_named(self.file):
            ids = dict(self.vocab)
            last = max(ids.values(), default=-1)
            ids |= {x.content: x.id for x in self.added_tokens if x.id < last}
            if sorted(ids.values()) != [*range(len(ids))]:
                raise ValueError("the ids of the word pieces have gaps")
        return sorted(ids, key=ids.__getitem__)

    def read_normalizer(self) -> dict[str, Any]:
        """Returns the settings for the case, accents and ideographs."""
        normalizer = self.values.get("normalizer", {})
        for case in itertools.product([True, False], repeat=3):
            if normalizer == _normalizer(*case):
                return dict(zip(_CASE.values(), case, strict=True))
        if normalizer.get("type") == "Sequence":
            types = [x["type"] for x in normalizer["normalizers"]]
            if types != ["BertNormalizer"]:
                raise refused(self.file, "normalizer", normalizer)
            (normalizer,) = normalizer["normalizers"]
        check_keys(normalizer, _KEYS_OF_NORMALIZER, self.file)
        return {y: normalizer[x] for x, y in _CASE.items() if x in normalizer}

    def read_post_processor(self) -> dict[str, Any]:
        """Returns the settings of the post-processor; {} if it is not given.

        These are the tokens that stand for [CLS] and [SEP], the segment id of
        the second text, and the number of [SEP] between the texts of a pair.
        """
        processor = self.values.get("post_processor", {})
        if processor == {}:
            return {}
        ids = {x.content: x.id for x in self.added_tokens} | self.vocab
        parts = processor or {}
        is_template = "single" in parts
        if is_template:
            single = (parts["single"][0], parts["single"][-1])
            cls, sep = (x.get("SpecialToken", {}).get("id") for x in single)
        else:
            cls, sep = (parts.get(x, [None])[0] for x in ("cls", "sep"))
        given = {x: y for x, y in parts.items() if x not in _OF_OFFSETS}
        if cls in ids and sep in ids:
            for segment, number in itertools.product((1, 0), (1, 2)):
                ends = _Ends(cls, sep, segment, number)
                if given == _post_processor(ends, ids, is_template=is_template):
                    return ends._asdict()
        raise refused(self.file, "post_processor", processor)


def tokenizer_json(tokenizer: Any, added: Sequence[AddedToken] = ()) -> str:
    """Returns the text of a `tokenizer.json` for many programming languages.

    A tokenizer from this file adds [CLS] and [SEP], and neither truncates nor
    pads. It finds the `added` tokens in a text before it splits the text. The
    ids are the same as in this package, except in texts with some rare
    characters: ideographs of extension E, and punctuation of Unicode 11 and
    newer.
    """
    settings, special = tokenizer.settings, tokenizer.special_tokens
    given = tokenizer.json.values if tokenizer.json else {}
    values: dict[str, Any] = {
        **given,
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            token._asdict() for token in sorted(added, key=lambda x: x.id)
        ],
    }
    in_text = {token.content for token in added}
    ids = _ids_of(tokenizer.vocab)
    # The package `tokenizers` ignores the id of an added token, and takes the
    # next one. So any gap between the ids of `added` belongs to the model.
    size = max(i for x, i in ids.items() if x not in in_text) + 1
    vocab = tokenizer.vocab[: max(size, len(tokenizer.pieces))]
    if not tokenizer.has_word_pieces:
        hidden = {*special} - in_text
        values["model"] = _with_pieces(tokenizer.json.model, vocab, hidden)
    else:
        # The settings of MPNet may differ from its tokenizer.json.
        segment, number = settings.second_segment, settings.pair_separators
        ends = _Ends(special.cls, special.sep, segment, number)
        processor = given.get("post_processor") or {}
        is_template = "single" in processor or (
            not processor and (segment, number) != (1, 1)
        )
        case = (
            settings.do_lower_case,
            settings.strips_accents,
            settings.tokenize_chinese_chars,
        )
        values |= {
            "normalizer": (
                _bert_normalizer(*case) if given else _normalizer(*case)
            ),
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": processor
            | _post_processor(ends, ids, is_template=is_template),
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {
                "type": "WordPiece",
                "unk_token": special.unk,
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": settings.max_input_chars_per_word,
                "vocab": _ids_of(vocab),
            },
        }
    # Compact JSON has a third of the size of indented ASCII.
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")) + "\n"


def _with_pieces(
    model: dict[str, Any], pieces: Sequence[str], hidden: Collection[str] = ()
) -> dict[str, Any]:
    """Returns a model with other pieces, in the order of their ids.

    The pieces in `hidden` are not found in texts.
    """
    if model["type"] != "Unigram":
        # Other models find no special tokens in a text.
        return model | {"vocab": _ids_of(pieces)}
    scores = dict(model["vocab"])
    unknown, _ = model["vocab"][model["unk_id"]]
    # No word contains a space, so a piece with a space is not found.
    names = [f"{x} " if x in hidden else x for x in pieces]
    pairs = zip(names, (scores.get(x, 0.0) for x in pieces), strict=True)
    return model | {"unk_id": pieces.index(unknown), "vocab": [*pairs]}


def _ids_of(vocab: Sequence[str]) -> dict[str, int]:
    return {piece: i for i, piece in enumerate(vocab)}


def _bert_normalizer(
    lowers: bool, strips_accents: bool, splits_cjk: bool
) -> dict:
    return {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": splits_cjk,
        "strip_accents": strips_accents,
        "lowercase": lowers,
    }


def _normalizer(lowers: bool, strips_accents: bool, splits_cjk: bool) -> dict:
    # The built-in cleaning and removal of accents in `tokenizers` treat private
    # characters and some scripts differently from google-research/bert.
    built_in = _bert_normalizer(lowers, False, splits_cjk)
    normalizers = [
        _replace(r"[\t\n\r\p{Zs}]", " "),
        _replace(r"[\p{Cc}\p{Cf}\x{FFFD}]", ""),
        built_in | {"clean_text": False},
    ]
    if strips_accents:
        normalizers += [{"type": "NFD"}, _replace(r"\p{Mn}", "")]
    return {"type": "Sequence", "normalizers": normalizers}


def _replace(pattern: str, content: str) -> dict:
    regex = {"Regex": pattern}
    return {"type": "Replace", "pattern": regex, "content": content}


def _post_processor(ends: _Ends, ids: Mapping, *, is_template: bool) -> dict:
    """Returns the step that adds `ends`, or {} if there is no such step."""
    cls, sep, segment, number = ends
    if not is_template:
        if (segment, number) not in _PROCESSORS:
            return {}
        return {
            "type": _PROCESSORS[segment, number],
            "cls": [cls, ids[cls]],
            "sep": [sep, ids[sep]],
        }

    def part(kind: str, name: str, type_id: int) -> dict:
        return {kind: {"id": name, "type_id": type_id}}

    end = part("SpecialToken", sep, 0)
    single = [part("SpecialToken", cls, 0), part("Sequence", "A", 0), end]
    second = [end] * (number - 1) + [part("Sequence", "B", segment)]
    second.append(part("SpecialToken", sep, segment))
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": single + second,
        "special_tokens": {
            x: {"id": x, "ids": [ids[x]], "tokens": [x]} for x in (cls, sep)
        },
    }


def check_keys(values: Mapping, known: Known, file: Path) -> None:
    """Raises InputError for an unknown key, or an unknown value of a key."""
    for name, value in values.items():
        choices = known.get(name, _NOTHING)
        if choices is not None and value not in (None, *choices):
            raise refused(file, name, value)


def refused(file: Path, name: str, value: Any) -> InputError:
    return InputError(
        f"{file} has {name}: {reprlib.repr(value)}, which this package "
        "does not support; remove it if it changes no token, or give another "
        "tokenizer."
    )


@contextlib.contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turns an error about malformed values into an InputError about a file."""
    try:
        yield
    except InputError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is not a tokenizer ({error!r}); copy it again, or give a "
            "vocab.txt."
        ) from error

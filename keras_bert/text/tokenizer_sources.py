"""The files that a tokenizer was made from -> a `tokenizer.json`'s values."""

import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keras_bert.errors import InputError
from keras_bert.io.whole_files import read_json
from keras_bert.text.tokenizer_json import TokenizerJson, damage_named

SENTENCEPIECE, VOCAB_JSON = "sentencepiece.bpe.model", "vocab.json"
CONFIG, _MERGES = "tokenizer_config.json", "merges.txt"
_META = {
    "type": "Metaspace",
    "replacement": "\u2581",
    "prepend_scheme": "always",
    "split": True,
}
_UNIGRAM = 1  # the model_type in a TrainerSpec


def read_tokenizer(file: Path) -> TokenizerJson:
    """Returns the `TokenizerJson` of a tokenizer.json or another known file.

    The other files are XLM-RoBERTa's `sentencepiece.bpe.model`, and RoBERTa's
    `vocab.json` with `merges.txt`.

    Raises InputError if the file is damaged or of another kind.
    """
    values = None
    with damage_named(file):
        if file.suffix == ".model":
            values = _of_sentencepiece(file)
        elif file.name == VOCAB_JSON:
            values = _of_merges(file)
    return TokenizerJson(file, values)


def _of_sentencepiece(file: Path) -> dict[str, Any]:
    if file.name != SENTENCEPIECE:
        raise InputError(
            f"The name of {file} does not say which special tokens the "
            "vocabulary needs; give the tokenizer.json of the checkpoint."
        )
    fields = [*_fields(file.read_bytes())]
    pieces = [_piece(value) for number, value in fields if number == 1]
    (trainer,) = (dict(_fields(x)) for number, x in fields if number == 2)
    (rules,) = (dict(_fields(x)) for number, x in fields if number == 3)
    if trainer.get(3, _UNIGRAM) != _UNIGRAM or not rules.get(2):
        raise InputError(
            f"{file} is not a Unigram model with normalization rules; give the "
            "tokenizer.json of the checkpoint."
        )
    # XLM-RoBERTa uses fairseq's special tokens and ids instead of the file's.
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    vocab = [[name, 0.0] for name in names] + pieces[3:] + [["<mask>", 0.0]]
    charsmap = base64.b64encode(rules[2]).decode()
    mask = _added("<mask>", len(vocab) - 1) | {"lstrip": True}
    return {
        "added_tokens": [*(_added(x, i) for i, x in enumerate(names)), mask],
        "normalizer": {
            "type": "Precompiled",
            "precompiled_charsmap": charsmap,
        },
        # As in SentencePiece, white space at the ends of a text is left out.
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, _META],
        },
        "decoder": _META,
        "post_processor": _processor(0, 2, trims=False),
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab},
    }


def _of_merges(file: Path) -> dict[str, Any]:
    vocab = json.loads(file.read_bytes())
    if not file.with_name(_MERGES).is_file():
        raise FileNotFoundError(
            f"The folder of {file} has no {_MERGES}; copy that file there, or "
            "give the tokenizer.json of the checkpoint."
        )
    lines = file.with_name(_MERGES).read_text(encoding="utf-8").split("\n")
    merges = [x for x in lines if x and not x.startswith("#version")]
    names = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    config = read_json(file.with_name(CONFIG), is_needed=False)
    adds_space = bool(config.get("add_prefix_space"))
    byte_level = {"type": "ByteLevel", "trim_offsets": True, "use_regex": True}
    return {
        "added_tokens": [_added(x, vocab[x]) for x in names],
        "normalizer": None,
        "pre_tokenizer": byte_level | {"add_prefix_space": adds_space},
        "decoder": byte_level | {"add_prefix_space": True},
        "post_processor": _processor(vocab["<s>"], vocab["</s>"], trims=True),
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": [line.split(" ") for line in merges],
        },
    }


def _added(content: str, id_: int) -> dict[str, Any]:
    return {"content": content, "id": id_, "normalized": False, "special": True}


def _processor(cls_id: int, sep_id: int, *, trims: bool) -> dict[str, Any]:
    return {
        "type": "RobertaProcessing",
        "sep": ["</s>", sep_id],
        "cls": ["<s>", cls_id],
        "trim_offsets": trims,
        "add_prefix_space": False,
    }


def _piece(message: bytes) -> list:
    fields = dict(_fields(message))
    (score,) = struct.unpack("<f", fields.get(2, bytes(4)))
    return [fields[1].decode(), score]


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yields the number and the value of each field of a protocol buffer.

    A value is an integer or bytes.
    """
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = message[place]
            place += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    while place < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}[kind] if kind != 2 else varint()
        if place + size > len(message):
            raise ValueError("the file ends too early")
        yield key >> 3, message[place : place + size]
        place += size

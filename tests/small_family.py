"""A pre-trained checkpoint of each family, with a tiny tokenizer."""

import json
from collections.abc import Callable
from pathlib import Path

import keras
from conftest import randomize, write_vocab

import keras_bert
from keras_bert.config import BertConfig
from keras_bert.families import FAMILIES
from keras_bert.models.encoder import build_encoder

# With byte-level pieces; the others have BERT's.
BYTE_LEVEL = ("modernbert", "mpnet", "roberta", "xlm-roberta")
# In the order of the ids from 0 on, and the mask, whose id is the last one.
_NAMES = {
    "modernbert": ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"),
    "roberta": ("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
}
_MERGES = "h e|Ġ t|Ġt he|Ġ f|o x|Ġf ox|o d|g o|go od|Ġ good|Ġ d|Ġd o|Ġdo g"
SIZES = {
    "hidden_size": 12,
    "num_attention_heads": 3,
    "intermediate_size": 20,
    "num_hidden_layers": 2,
    "max_position_embeddings": 40,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def family_config(family: str, vocab_size: int, **sizes) -> BertConfig:
    switches = dict(FAMILIES[family].switches)
    if family == "modernbert":
        switches |= {"local_attention": 4, "biases": "", "pooling": "mean"}
    if family == "electra":
        switches["embedding_size"] = 8
    if family == "gte":  # no segments, as in the released gte-base-en-v1.5
        switches["type_vocab_size"] = 0
    values = {"vocab_size": vocab_size, "family": family, **sizes}
    return BertConfig(**{**switches, **SIZES, **values})


def write_family(
    folder: Path,
    family: str,
    *,
    build: Callable[[BertConfig], keras.Model] = build_encoder,
    **sizes,
) -> Path:
    """Writes a network with random weights, its config and tokenizer."""
    texts = folder.with_name(f"{folder.name}_tokenizer")
    texts.mkdir(parents=True)
    if family in BYTE_LEVEL:
        _write_byte_level(texts, family)
    else:
        write_vocab(texts)
    tokenizer = keras_bert.load_tokenizer(texts)
    model = build(family_config(family, tokenizer.vocab_size, **sizes))
    randomize(model)
    keras_bert.save_pretrained(model, tokenizer, folder)
    return folder


def _write_byte_level(folder: Path, family: str) -> None:
    is_modern = family == "modernbert"
    names = _NAMES["modernbert" if is_modern else "roberta"]
    merges = [x.split(" ") for x in _MERGES.split("|")]
    merges = [x for x in merges if x != ["Ġ", "good"]]
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [i for i in range(256) if i not in shown]
    characters = [*map(chr, shown), *(chr(256 + i) for i in range(len(hidden)))]
    pieces = [*names[:4], *characters, *map("".join, merges), names[4]]
    ids = {piece: i for i, piece in enumerate(pieces)}
    added = [
        {
            "id": ids[name],
            "content": name,
            "single_word": False,
            "lstrip": name == names[4],
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for name in names
    ]
    cls, sep = ([name, ids[name]] for name in (names[0], names[2]))
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    (folder / "tokenizer.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": added,
                "normalizer": {"type": "NFC"} if is_modern else None,
                "pre_tokenizer": byte_level,
                "post_processor": _template(cls, sep)
                if is_modern
                else {
                    "type": "RobertaProcessing",
                    "sep": sep,
                    "cls": cls,
                    "trim_offsets": True,
                    "add_prefix_space": False,
                },
                "decoder": byte_level,
                "model": {
                    "type": "BPE",
                    "dropout": None,
                    "unk_token": None,
                    "continuing_subword_prefix": "",
                    "end_of_word_suffix": "",
                    "fuse_unk": False,
                    "byte_fallback": False,
                    "ignore_merges": False,
                    "vocab": ids,
                    "merges": merges,
                },
            }
        ),
        encoding="utf-8",
    )
    tokens = dict(zip("cls pad sep unk mask".split(), names, strict=True))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({f"{x}_token": name for x, name in tokens.items()})
    )


def _template(cls, sep):
    (cls, cls_id), (sep, sep_id) = cls, sep
    ends = [{"SpecialToken": {"id": x, "type_id": 0}} for x in (cls, sep)]
    first, second = ({"Sequence": {"id": x, "type_id": 0}} for x in ("A", "B"))
    return {
        "type": "TemplateProcessing",
        "single": [ends[0], first, ends[1]],
        "pair": [ends[0], first, ends[1], second, ends[1]],
        "special_tokens": {
            x: {"id": x, "ids": [i], "tokens": [x]}
            for x, i in ((cls, cls_id), (sep, sep_id))
        },
    }

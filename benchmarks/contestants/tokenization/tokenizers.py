"""The Rust library `tokenizers`, without offsets."""

import json
from pathlib import Path

from contestant import Prepared
from tokenization.digests import digests
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

PACKAGES = ("tokenizers",)


def prepare(options):
    def load(case):
        lines = json.loads(
            Path(options["lines"], f"{case['lines']}.json").read_text()
        )
        if "folder" in case:
            file = Path(options["folders"], case["folder"], "tokenizer.json")
            return lines, Tokenizer.from_file(str(file))
        vocab = f"bert-base-{case['vocab']}.vocab.txt"
        text = Path(options["vocabularies"], vocab).read_text(encoding="utf-8")
        ids = {piece: i for i, piece in enumerate(text.split("\n")[:-1])}
        tokenizer = Tokenizer(
            models.WordPiece(
                ids, unk_token="[UNK]", max_input_chars_per_word=200
            )
        )
        tokenizer.normalizer = normalizers.BertNormalizer(
            lowercase=case["vocab"] == "uncased"
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return lines, tokenizer

    loaded = {}

    def run(case):
        key = tuple(case.values())
        if key not in loaded:
            loaded[key] = load(case)
        lines, tokenizer = loaded[key]
        return tokenizer.encode_batch_fast(lines, add_special_tokens=False)

    return Prepared(
        run, check=lambda encodings: digests(x.ids for x in encodings)
    )

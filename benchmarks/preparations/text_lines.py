"""Writes lines of text in several languages, for tokenizers.

    python text_lines.py SHARED FOLDER

Writes lists of texts: FOLDER/novels.json, korean.json, mixed.json,
wikipedia.en.json and wikipedia.ko.json. `mixed` has paragraphs in Arabic,
German, Thai and Chinese; the Wikipedia files have paragraphs of at least 100
characters.
"""

import gzip
import itertools
import json
import sys
from pathlib import Path

_NUM_LINES = 20_000
_NUM_PARAGRAPHS = 4_000


def main(shared, folder):
    shared, folder = Path(shared), Path(folder)
    folder.mkdir()
    texts = {
        "novels": _lines(shared / "data/pretrain/novels.en.txt.gz"),
        "korean": _lines(shared / "data/pretrain/movie-reviews.ko.txt.gz"),
        "mixed": _mixed(shared / "golden/tokenizer/expected_ids.jsonl.gz"),
    }
    for language in ("en", "ko"):
        name = f"wikipedia.{language}"
        path = shared / f"data/pretrain/{name}.jsonl.gz"
        texts[name] = list(itertools.islice(_paragraphs(path), _NUM_PARAGRAPHS))
    for name, lines in texts.items():
        (folder / f"{name}.json").write_text(json.dumps(lines))


def _lines(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [s.rstrip("\n") for s in itertools.islice(file, _NUM_LINES)]


def _paragraphs(path):
    with gzip.open(path) as rows:
        for row in rows:
            lines = json.loads(row)["text"].split("\n")
            yield from (line for line in lines if len(line) >= 100)


def _mixed(path):
    with gzip.open(path) as rows:
        texts = [json.loads(row)["text"] for row in rows]
    long = [
        text
        for text in texts
        if len(text) >= 200 and len(set(text)) > 20 and not text.isascii()
    ]
    return list(itertools.islice(itertools.cycle(long), _NUM_LINES // 5))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Writes the texts from which mini_ko_en learned, one text per line.

    python examples/mini_ko_en_texts.py ../shared/data texts.txt all_texts.txt

The second file, all_texts.txt, has more texts. mini_ko_en keeps the word pieces
that are most frequent in all_texts.txt.

Three of five texts are Korean: sentences, paragraphs and titles from Wikipedia,
film reviews, and sentences from KorSTS. The English texts come from the same
sources as the texts of mini_en. One in 20 Korean Wikipedia articles is left
out, to test a search for articles that the model has never seen.
"""

import csv
import gzip
import json
import random
import re
import sys
import zlib
from pathlib import Path

import mini_en_texts as english

# Korean has no capitals. A sentence ends at a space after . ! or ?
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def is_kept_out(title: str) -> bool:
    return zlib.crc32(title.encode()) % 20 == 0


def read_articles(data_dir: Path) -> list[dict[str, str]]:
    with gzip.open(
        data_dir / "pretrain/wikipedia.ko.jsonl.gz", "rt", encoding="utf-8"
    ) as file:
        return [json.loads(line) for line in file]


def read_training_articles(data_dir: Path) -> list[dict[str, str]]:
    """Returns the articles that are not kept for testing a search."""
    articles = read_articles(data_dir)
    return [x for x in articles if not is_kept_out(x["title"])]


def read_reviews(data_dir: Path) -> list[str]:
    with gzip.open(
        data_dir / "pretrain/movie-reviews.ko.txt.gz", "rt", encoding="utf-8"
    ) as file:
        return list(file)


def read_korsts(data_dir: Path) -> list[str]:
    with open(data_dir / "korsts/sts-train.tsv", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row[x] for row in rows for x in ("sentence1", "sentence2")]


def main() -> None:
    data_dir, output_file, all_file = map(Path, sys.argv[1:])
    random.seed(1)
    articles = read_training_articles(data_dir)
    paragraphs = [x for row in articles for x in row["text"].split("\n")]
    sentences = [x for text in paragraphs for x in SENTENCE_END.split(text)]
    english_articles = english.read_articles(data_dir)
    english_text = "\n".join(x["text"] for x in english_articles)
    texts = [
        *english.choose(sentences, 12, 150, 70_000),
        *english.choose(paragraphs, 150, 500, 6_000),
        *english.choose([x["title"] for x in articles], 2, 60, 8_000),
        *english.choose(read_reviews(data_dir), 6, 140, 50_000),
        *english.choose(read_korsts(data_dir), 3, 300, 12_000),
        *english.choose(
            re.split(r"\n|(?<=[.!?])\s+(?=[A-Z])", english_text),
            *(25, 200, 38_000),
        ),
        *english.choose([x["title"] for x in english_articles], 3, 60, 4_000),
        *english.choose(english.read_nli(data_dir), 3, 250, 30_000),
        *english.choose(english.read_stsb(data_dir), 3, 300, 12_000),
        *english.choose(english.read_questions(data_dir), 10, 200, 8_000),
    ]
    texts = english.write(texts, output_file)
    texts += [*paragraphs, *map(str.strip, read_reviews(data_dir))]
    all_file.write_text("\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

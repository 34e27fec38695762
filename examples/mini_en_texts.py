"""Writes the texts from which mini_en learned, one text per line.

    python examples/mini_en_texts.py ../shared/data texts.txt

The texts are sentences, paragraphs and titles from Wikipedia, lines of Project
Gutenberg novels, and sentences from SNLI, MNLI, STS-B and SQuAD without labels.
"""

import csv
import gzip
import json
import random
import re
import sys
from pathlib import Path

# A sentence ends at a space if a capital or an opening quote follows the space.
_SENTENCE_END = re.compile(r'(?<=[.!?])\s+(?=["“(A-Z])')


def read_articles(data_dir: Path) -> list[dict[str, str]]:
    with gzip.open(data_dir / "pretrain/wikipedia.en.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def read_nli(data_dir: Path) -> list[str]:
    texts = []
    for name in ("mnli-dev", "snli-dev", "snli-test"):
        with gzip.open(data_dir / f"nli/{name}.jsonl.gz", "rt") as file:
            for line in file:
                row = json.loads(line)
                texts += [row["premise"], row["hypothesis"]]
    return texts


def read_stsb(data_dir: Path) -> list[str]:
    with open(data_dir / "glue/STS-B/train.tsv", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [row[x] for row in rows for x in ("sentence1", "sentence2")]


def read_questions(data_dir: Path) -> list[str]:
    with open(
        data_dir / "squad/train-v1.1-part.json", encoding="utf-8"
    ) as file:
        articles = json.load(file)["data"]
    paragraphs = [x for article in articles for x in article["paragraphs"]]
    return [x["question"] for paragraph in paragraphs for x in paragraph["qas"]]


def read_novels(data_dir: Path) -> list[str]:
    with gzip.open(data_dir / "pretrain/novels.en.txt.gz", "rt") as file:
        return list(file)


def choose(
    texts: list[str], shortest: int, longest: int, most: int
) -> list[str]:
    """Returns `most` random texts of `shortest` to `longest` characters."""
    lines = dict.fromkeys(" ".join(text.split()) for text in texts)
    fit = [line for line in lines if shortest <= len(line) <= longest]
    random.shuffle(fit)
    return fit[:most]


def write(texts: list[str], file: Path) -> list[str]:
    """Writes the texts without duplicates in random order, and returns them."""
    texts = list(dict.fromkeys(texts))
    random.shuffle(texts)
    file.write_text("\n".join(texts) + "\n", encoding="utf-8")
    print(f"{len(texts):,} texts of {sum(map(len, texts)):,} characters")
    return texts


def main() -> None:
    data_dir, output_file = Path(sys.argv[1]), Path(sys.argv[2])
    random.seed(1)
    articles = read_articles(data_dir)
    paragraphs = [
        x for article in articles for x in article["text"].split("\n")
    ]
    sentences = [x for text in paragraphs for x in _SENTENCE_END.split(text)]
    texts = [
        *choose(sentences, 25, 300, 170_000),
        *choose(paragraphs, 400, 1_500, 45_000),
        *choose([article["title"] for article in articles], 3, 100, 5_000),
        *choose(read_nli(data_dir), 3, 600, 60_000),
        *choose(read_stsb(data_dir), 3, 600, 12_000),
        *choose(read_questions(data_dir), 10, 300, 20_000),
        *choose(read_novels(data_dir), 25, 250, 12_000),
    ]
    write(texts, output_file)


if __name__ == "__main__":
    main()

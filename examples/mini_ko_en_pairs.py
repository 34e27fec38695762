"""Writes the pairs of the third stage of mini_ko_en, as JSON lines.

    python examples/mini_ko_en_pairs.py ../shared/data pairs.jsonl

A pair is a name and a text about it: the title of an article and one of its
paragraphs, or the subject of a sentence and the sentence. The articles that are
kept for testing the search are left out.
"""

import json
import random
import sys
from pathlib import Path

import mini_en_texts as english
import mini_ko_en_texts as korean
from mini_ko_en_names import SUBJECT

# Besides the first paragraph of a Korean article, at most this number of other
# paragraphs are used. They must contain the title.
_NUM_OTHERS = 2
_NUM_SENTENCES = 25_000
_LONGEST = 600


def _titles(title: str, text: str) -> list[tuple[str, str]]:
    """Returns pairs of a Korean article's title and up to three paragraphs."""
    paragraphs = [x for x in text.split("\n") if len(x) >= 40]
    if not paragraphs or len(title) < 2:
        return []
    first, *others = paragraphs
    others = [x for x in others if title in x and len(x) >= 80]
    random.shuffle(others)
    return [(title, x) for x in (first, *others[:_NUM_OTHERS])]


def main() -> None:
    data_dir, output_file = map(Path, sys.argv[1:])
    random.seed(3)
    articles = korean.read_training_articles(data_dir)
    pairs = [x for row in articles for x in _titles(row["title"], row["text"])]
    sentences = [
        sentence
        for row in articles
        for text in row["text"].split("\n")
        for sentence in korean.SENTENCE_END.split(text)
        if len(sentence) >= 30
    ]
    random.shuffle(sentences)
    # One sentence for each subject.
    found = {x[1]: x.string for x in map(SUBJECT.match, sentences) if x}
    pairs += random.sample([*found.items()], _NUM_SENTENCES)
    for row in english.read_articles(data_dir):
        first = row["text"].split("\n")[0]
        if len(first) >= 40:
            pairs.append((row["title"], first))
    random.shuffle(pairs)
    with output_file.open("w", encoding="utf-8") as lines:
        for name, text in pairs:
            row = {"text": name, "other_text": text[:_LONGEST]}
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(pairs):,} pairs")


if __name__ == "__main__":
    main()

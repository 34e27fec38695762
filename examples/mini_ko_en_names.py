"""Writes the texts of the second stage of mini_ko_en, one text per line.

    python examples/mini_ko_en_names.py ../shared/data names.txt

Half of the texts are like queries: titles, and the subjects of sentences, which
are often names. The rest are first paragraphs of articles, and texts like those
of the first stage. Articles that are kept for testing the search are left out.
"""

import random
import re
import sys
from pathlib import Path

import mini_en_texts as english
import mini_ko_en_texts as korean

# The subject of a sentence: the words before the first topic particle.
SUBJECT = re.compile(r"([^\n,.()\"'“”‘’]{2,16}?)(?:\([^)\n]*\))?(?:은|는) ")
_ENGLISH_NAME = re.compile(
    r"[A-Z][\w'-]+(?: (?:of |the |and )?[A-Z][\w'-]+){1,3}"
)


def main() -> None:
    data_dir, output_file = map(Path, sys.argv[1:])
    random.seed(2)
    articles = korean.read_training_articles(data_dir)
    paragraphs = [x for row in articles for x in row["text"].split("\n")]
    sentences = [x for text in paragraphs for x in re.split(r"\. +", text)]
    subjects = [x[1] for x in map(SUBJECT.match, sentences) if x]
    english_articles = english.read_articles(data_dir)
    english_text = "\n".join(x["text"] for x in english_articles)
    names = _ENGLISH_NAME.findall(english_text)
    first = [x["text"].split("\n")[0] for x in articles]
    texts = [
        *english.choose([x["title"] for x in articles], 2, 60, 8_000),
        *english.choose(subjects, 2, 16, 30_000),
        *english.choose([x["title"] for x in english_articles], 3, 60, 8_000),
        *english.choose(names, 5, 40, 8_000),
        *english.choose([x[:500] for x in first], 40, 500, 8_000),
        *english.choose(sentences, 12, 150, 16_000),
        *english.choose(korean.read_reviews(data_dir), 6, 140, 12_000),
        *english.choose(korean.read_korsts(data_dir), 3, 300, 6_000),
        *english.choose(english.read_stsb(data_dir), 3, 300, 5_000),
        *english.choose(english.read_nli(data_dir), 3, 250, 6_000),
        *english.choose(english.read_questions(data_dir), 10, 200, 5_000),
    ]
    english.write(texts, output_file)


if __name__ == "__main__":
    main()

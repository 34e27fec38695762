r"""Writes a search task on the Korean Wikipedia as files in BEIR format.

    python examples/korean_retrieval.py ../shared/data wikipedia.ko

Each query is the title of an article that mini_ko_en has not seen. The document
to find is the first paragraph of this article, among the first paragraphs of
all articles. Then run:

    keras-bert evaluate-retrieval --data_dir=wikipedia.ko \
        --checkpoint=mini_ko_en --output_dir=retrieved
"""

import json
import sys
from pathlib import Path

from mini_ko_en_texts import is_kept_out, read_articles


def main() -> None:
    data_dir, output_dir = map(Path, sys.argv[1:])
    (output_dir / "qrels").mkdir(parents=True)
    corpus, queries = [], []
    judgments = ["query-id\tcorpus-id\tscore"]
    for i, article in enumerate(read_articles(data_dir)):
        paragraph = article["text"].split("\n")[0]
        # Leaves out articles that begin with a heading or are about a number.
        if len(paragraph) < 40 or len(article["title"]) < 2:
            continue
        corpus.append({"_id": f"d{i}", "title": "", "text": paragraph})
        if is_kept_out(article["title"]):
            queries.append({"_id": f"q{i}", "text": article["title"]})
            judgments.append(f"q{i}\td{i}\t1")
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        file = output_dir / f"{name}.jsonl"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    file = output_dir / "qrels" / "test.tsv"
    file.write_text("\n".join(judgments) + "\n", encoding="utf-8")
    print(f"{len(queries):,} queries, {len(corpus):,} paragraphs")


if __name__ == "__main__":
    main()

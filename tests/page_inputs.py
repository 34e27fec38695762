"""Writes the texts and data sets that the pages in docs/ name."""

import gzip
import json
import shutil

from doc_pages import ROOT

import keras_bert


def write_data(folder):
    """Adds them to a folder with corpus.txt, vocab.txt and sst2."""
    _write_configs(folder)
    text = (folder / "corpus.txt").read_text()
    for name in ("corpus/a", "corpus/b", "reviews/a", "texts/a", "heldout"):
        _write_gzip(folder / f"{name}.txt.gz", text)
    for name in ("train", "heldout"):
        keras_bert.create_pretraining_data(
            text.splitlines(),
            [folder / f"{name}.tfrecord"],
            keras_bert.BertTokenizer(folder / "vocab.txt"),
            keras_bert.PretrainingDataConfig(dupe_factor=1),
        )
    _write_gzip(folder / "texts/a.tsv.gz", "a good film\nthe movie was bad\n")
    shutil.copytree(folder / "sst2", folder / "SST-2")

    keras_bert.export.convert_checkpoint(
        folder / "pretrained",
        folder / "sentence_transformer",
        "sentence_transformers",
        settings={"max_seq_length": 16},
    )
    pair = {"question": "is the film good", "answer": "it is a good film"}
    _write_rows(folder / "articles.jsonl", [{"title": "the fox"}] * 3)
    _write_rows(folder / "answers/train.jsonl", [pair] * 4)
    wrong = {"wrong_answer": "the lazy dog"}
    _write_rows(folder / "answers/dev.jsonl", [pair | wrong] * 4)
    for name in ("train", "dev"):
        _write_text(
            folder / f"questions/{name}.tsv",
            "question1\tquestion2\tlabel\na film\ta movie\tyes\n"
            "a film\ta dog\tno\n",
        )
    _write_nli(folder / "data")
    _write_squad(folder / "squad")
    _write_collection(folder / "cranfield")


def _write_configs(folder):
    (folder / "configs").symlink_to(ROOT / "configs")
    values = json.loads((folder / "configs/models/bert_tiny.json").read_text())
    _write_rows(folder / "bert_tiny.json", [{**values, "vocab_size": 31}])


def _write_text(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _write_gzip(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def _write_rows(path, rows):
    _write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def _write_nli(folder):
    rows = [
        {"premise": "a fox jumped", "hypothesis": text, "label": label}
        for text, label in (
            ("the fox is over a dog", "entailment"),
            ("the dog is lazy", "contradiction"),
        )
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    _write_gzip(folder / "nli/train.jsonl.gz", text)
    columns = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2"
    lines = [f"{columns}\tsentence1\tsentence2\tscore"]
    for number, text in enumerate(["a dog", "not a fox", "the quick fox"]):
        lines.append("\t".join(["0"] * 7 + ["a fox", text, f"{number}"]))
    for name in ("train", "dev"):
        _write_text(folder / f"glue/STS-B/{name}.tsv", "\n".join(lines) + "\n")


def _write_squad(folder):
    context = "the fox is quick . the dog is lazy"
    answer = {"text": "dog", "answer_start": context.index("dog")}
    question = {"id": "1", "question": "what is lazy", "answers": [answer]}
    paragraph = {"context": context, "qas": [question]}
    articles = {"data": [{"title": "", "paragraphs": [paragraph]}]}
    row = {"question": "what is lazy", "context": context, "label": [answer]}
    for name in ("train", "dev"):
        _write_text(folder / f"{name}-v1.1.json", json.dumps(articles))
        _write_rows(folder / f"../manual/{name}.jsonl", [row] * 3)


def _write_collection(folder):
    document = {"_id": "d1", "title": "", "text": "the fox"}
    _write_rows(folder / "corpus.jsonl", [document])
    _write_rows(folder / "queries.jsonl", [{"_id": "q1", "text": "a fox"}])
    _write_text(
        folder / "qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n"
    )

"""Compares the speed of the tokenizer with the Rust library `tokenizers`.

Both turn the same Python list of lines into ids and take turns in one process.
The table shows the median time of all rounds. `tokenizers` uses two threads
and computes no offsets. keras_bert runs twice: in one call on all lines, which
uses one thread, and in a tf.data pipeline with two threads. The last column
counts the lines whose ids differ. Needs `tokenizers` and the shared folder
with the golden results.

    KERAS_BERT_SHARED=../shared python benchmarks/tokenizer_speed.py
"""

import gzip
import itertools
import json
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["RAYON_NUM_THREADS"] = "2"  # tokenizers reads it on import

import matplotlib
import tensorflow as tf
from absl import app, flags
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from keras_bert.text.tokenizer import BertTokenizer

SHARED = flags.DEFINE_string(
    "shared", os.environ.get("KERAS_BERT_SHARED"), "The shared folder."
)
ROUNDS = flags.DEFINE_integer("rounds", 7, "Timed rounds.")
PICTURE = flags.DEFINE_string(
    "output_file", "tokenizer_speed.png", "The chart."
)
_NUM_LINES = 20_000


def main(_):
    shared = Path(SHARED.value)
    english = _lines(shared / "data/pretrain/novels.en.txt.gz")
    korean = _lines(shared / "data/pretrain/movie-reviews.ko.txt.gz")
    with gzip.open(shared / "golden/tokenizer/expected_ids.jsonl.gz") as rows:
        golden = [json.loads(row)["text"] for row in rows]
    # Paragraphs in Arabic, German, Thai and Chinese.
    mixed = [
        text
        for text in golden
        if len(text) >= 200 and len(set(text)) > 20 and not text.isascii()
    ]
    mixed = list(itertools.islice(itertools.cycle(mixed), _NUM_LINES // 5))

    results = {}
    print(f"{'':28}{'tokenizers':>12}{'one call':>16}{'tf.data':>16}  differ")
    for name, lines, model in (
        ("novels, uncased", english, "uncased"),
        ("Korean, cased", korean, "multilingual-cased"),
        ("Korean, uncased", korean, "uncased"),
        ("mixed, cased", mixed, "multilingual-cased"),
        ("mixed, uncased", mixed, "uncased"),
    ):
        vocab_file = shared / f"data/vocab/bert-base-{model}.vocab.txt"
        seconds, num_different = _race(lines, vocab_file, model == "uncased")
        results[name] = ratios = [seconds[0] / s for s in seconds]
        print(f"{name:18}{len(lines):6} lines{seconds[0]:10.3f} s", end="")
        for taken, ratio in zip(seconds[1:], ratios[1:], strict=True):
            print(f"{taken:8.3f} s{ratio:5.1f}x", end="")
        print(f"{num_different:8}", flush=True)
    _draw(results)


def _lines(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [s.rstrip("\n") for s in itertools.islice(file, _NUM_LINES)]


def _race(lines, vocab_file, do_lower_case):
    """Returns the median seconds of each run and the number of differences."""
    tokenizer = BertTokenizer(vocab_file, do_lower_case)
    ids = {piece: i for i, piece in enumerate(tokenizer.vocab)}
    peer = Tokenizer(models.WordPiece(ids, max_input_chars_per_word=200))
    peer.normalizer = normalizers.BertNormalizer(lowercase=do_lower_case)
    peer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    dataset = tf.data.Dataset.from_tensor_slices(lines).batch(1000)
    dataset = dataset.map(tokenizer, num_parallel_calls=2)
    runs = (
        lambda: peer.encode_batch_fast(lines, add_special_tokens=False),
        lambda: tokenizer(lines),
        lambda: list(dataset),
    )
    expected, ids, _ = (run() for run in runs)
    num_different = sum(
        a.ids != b for a, b in zip(expected, ids.to_list(), strict=True)
    )
    seconds = [[] for _ in runs]
    for _ in range(ROUNDS.value):
        for run, times in zip(runs, seconds, strict=True):
            start = time.perf_counter()
            result = run()
            times.append(time.perf_counter() - start)
            del result  # outside the timed section
    return [statistics.median(times) for times in seconds], num_different


def _draw(results):
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    runs = (
        "tokenizers, 2 threads",
        "keras_bert, one call",
        "keras_bert, tf.data",
    )
    for i, label in enumerate(runs):
        places = [place + 0.25 * (i - 1) for place in range(len(results))]
        axes.barh(places, [r[i] for r in results.values()], 0.25, label=label)
    axes.set_yticks(range(len(results)), results)
    axes.invert_yaxis()
    axes.set_xlabel("lines per second, relative to tokenizers")
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(PICTURE.value, dpi=120)


if __name__ == "__main__":
    app.run(main)

r"""Compares the speed of writing pre-training records with Google's script.

Each writes records of the same text in a process of its own, one after the
other. The table shows the CPU time of the whole call without imports. CPU
time depends neither on other processes nor on the number of threads.
keras_bert needs almost a second before it writes the first record, which
counts on a small text. Google's script needs its own environment:

    python -m venv google && google/bin/pip install tensorflow absl-py
    google/bin/pip install --no-deps bert-tensorflow==1.0.4
    python benchmarks/pretraining_data_speed.py --input_file=novels.txt.gz \
        --vocab_file=vocab.txt --google_python=google/bin/python
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
from absl import app, flags

INPUT_FILE = flags.DEFINE_string(
    "input_file", None, "Text, plain or .gz, one sentence a line."
)
VOCAB_FILE = flags.DEFINE_string("vocab_file", None, "The vocab.txt.")
GOOGLE_PYTHON = flags.DEFINE_string(
    "google_python", None, "A Python with tensorflow and bert-tensorflow."
)
MEGABYTES = flags.DEFINE_float(
    "megabytes", None, "Use only the first megabytes of the text; default: all."
)
DUPE_FACTORS = flags.DEFINE_list(
    "dupe_factors", ["1", "10"], "The values to try."
)
OUTPUT_FILE = flags.DEFINE_string(
    "output_file", "pretraining_data_speed.png", "The chart."
)

_KERAS_BERT = """
import json, sys, time
import keras_bert
import tensorflow, tensorflow_text
if __name__ == "__main__":
    text, output, vocab, dupe_factor = sys.argv[1:]
    tokenizer = keras_bert.BertTokenizer(vocab)
    begin = time.process_time()
    counts = keras_bert.create_pretraining_data(
        keras_bert.TextSource(text).lines(),
        [output],
        tokenizer,
        keras_bert.PretrainingDataConfig(dupe_factor=int(dupe_factor)),
    )
    print(json.dumps([time.process_time() - begin, counts["instances"]]))
"""
_GOOGLE = """
import json, sys, time
import tensorflow.compat.v1 as tf
sys.modules["tensorflow"] = tf
from bert import create_pretraining_data
text, output, vocab, dupe_factor = sys.argv[1:]
tf.flags.FLAGS(
    ["", f"--input_file={text}", f"--output_file={output}"]
    + [f"--vocab_file={vocab}", f"--dupe_factor={dupe_factor}"]
)
tf.logging.set_verbosity(tf.logging.ERROR)
begin = time.process_time()
create_pretraining_data.main(None)
seconds = time.process_time() - begin
instances = sum(1 for _ in tf.python_io.tf_record_iterator(output))
print(json.dumps([seconds, instances]))
"""


def main(argv):
    del argv
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        text, size = _cut(Path(folder) / "text.txt")
        for dupe_factor in DUPE_FACTORS.value:
            output = str(Path(folder) / f"{dupe_factor}.tfrecord")
            for name, python, code in (
                ("google-research/bert", GOOGLE_PYTHON.value, _GOOGLE),
                ("keras_bert", sys.executable, _KERAS_BERT),
            ):
                done = subprocess.run(
                    [python, "-c", code, text, output, VOCAB_FILE.value]
                    + [dupe_factor],
                    check=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                seconds, instances = json.loads(done.stdout.splitlines()[-1])
                rows.append((dupe_factor, name, seconds, instances))
                Path(output).unlink()
    print(f"{size / 1e6:.1f} MB of text, CPU seconds on one core")
    print("| dupe factor | | s | MB/s | instances | instances/s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for i, (dupe_factor, name, seconds, instances) in enumerate(rows):
        google = rows[i - i % 2]
        ratio = instances / seconds / (google[3] / google[2])
        print(
            f"| {dupe_factor} | {name} | {seconds:.1f} | "
            f"{size / seconds / 1e6:.2f} | {instances} | "
            f"{instances / seconds:.0f} | {ratio:.1f} |"
        )
    _draw(rows)


def _cut(path):
    """Writes the first megabytes of the text; returns the path and the size."""
    opener = gzip.open if INPUT_FILE.value.endswith(".gz") else open
    with opener(INPUT_FILE.value, "rb") as source:
        content = source.read(MEGABYTES.value and int(MEGABYTES.value * 1e6))
    path.write_bytes(content)
    return str(path), len(content)


def _draw(rows):
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    labels = [f"{name}, dupe factor {factor}" for factor, name, _, _ in rows]
    speeds = [instances / seconds for _, _, seconds, instances in rows]
    bars = axes.barh(labels, speeds, color=["tab:gray", "tab:blue"])
    axes.bar_label(bars, fmt="%.0f", padding=2)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("instances per CPU second")
    figure.savefig(OUTPUT_FILE.value, dpi=120)


if __name__ == "__main__":
    flags.mark_flags_as_required([INPUT_FILE, VOCAB_FILE, GOOGLE_PYTHON])
    app.run(main)

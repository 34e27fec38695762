r"""Times how long this package and its peers take to embed one short text.

    python benchmarks/one_text.py --model=all-MiniLM-L6-v2 \
        --peers_python=.bench/torch/bin/python

Each contestant is a separate process. The contestants take turns for several
rounds. Prints, for each contestant, the median of its best round in
milliseconds. The peers' environment needs sentence-transformers[onnx,openvino]
and fastembed; a peer that is not installed there is left out.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXTS = [
    "a lovely film with a good heart",
    "how do I change the default value of a parameter?",
    "the plot is thin, but the actors carry it",
    "which cities lie on the river Rhine",
]
SECONDS = 4.0


def ours(folder, model):
    import keras_bert

    served = keras_bert.ServedModel(folder)
    return lambda text: served.answer([{"text": text}])


def ours_without_tensorflow(folder, model):
    sys.modules["tensorflow"] = None  # as if it were not installed
    return ours(folder, model)


def sentence_transformers(backend, model):
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(model, device="cpu", backend=backend)
    return lambda text: encoder.encode([text])


def fastembed(_, model):
    from fastembed import TextEmbedding

    encoder = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2")
    return lambda text: list(encoder.embed([text]))


def time_one(kind, argument, model):
    answer = globals()[kind](argument, model)
    for text in TEXTS * 10:
        answer(text)
    times, end, number = [], time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end:
        start = time.perf_counter()
        answer(TEXTS[number % len(TEXTS)])
        times.append(time.perf_counter() - start)
        number += 1
    print(json.dumps(sorted(times)[len(times) // 2] * 1000))


def export_all(model, folder, formats):
    import keras_bert

    embedder = keras_bert.TextEmbedder.from_pretrained(
        model, text_fields=["text"]
    )
    found = {}
    for name in formats:
        config = keras_bert.ExportConfig(name)
        found[name] = str(embedder.export(Path(folder, name), config))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--peers_python", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=2, help="used by the script itself")
    args = parser.parse_args()
    if args.one:
        time_one(*args.one, args.model)
        return
    with tempfile.TemporaryDirectory() as folder:
        formats = ("saved_model", "litert", "onnx", "openvino")
        found = export_all(args.model, folder, formats)
        contestants = [("ours", path) for path in found.values()]
        contestants += [
            ("ours_without_tensorflow", found[x]) for x in list(found)[1:]
        ]
        peers = [("sentence_transformers", x) for x in ("torch", "onnx")]
        peers += [("sentence_transformers", "openvino"), ("fastembed", "")]
        best = {}
        for _ in range(args.rounds):
            for kind, argument in contestants + peers:
                is_ours = kind.startswith("ours")
                python = sys.executable if is_ours else args.peers_python
                done = subprocess.run(
                    [python, __file__, "--one", kind, argument]
                    + [f"--model={args.model}", "--peers_python="],
                    capture_output=True,
                    text=True,
                )
                if done.returncode:
                    print(kind, argument, done.stderr.strip()[-300:])
                    continue
                name = kind, Path(argument).parent.name or argument
                ms = json.loads(done.stdout.splitlines()[-1])
                best[name] = min(ms, best.get(name, ms))
        print("| | ms |\n|---|---|")
        for (kind, argument), ms in sorted(best.items(), key=lambda x: x[1]):
            print(f"| {kind} {argument} | {ms:.2f} |")


if __name__ == "__main__":
    main()

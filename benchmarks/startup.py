r"""Measures how long the scripts take to start.

    python benchmarks/startup.py --work_dir=startup
    python benchmarks/startup.py --work_dir=startup --before=../older_checkout

Prints a row for each script: the seconds that --help takes, the seconds until
the first training step or the first answer with a tiny model, and the number of
modules that this run imports. For scripts without such a step or answer, the
time lasts until the script ends.

With --before, another checkout runs each command too, in turn with this one.
The row then has the other checkout's time divided by ours: the median, the
smallest and the largest ratio of the pairs of runs.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
TINY = ROOT / "configs" / "models" / "bert_tiny.json"
SENTENCES = (
    "the fox jumped over a lazy dog .",
    "this film is not bad at all .",
    "a vocabulary is learned from these words .",
    "every line of the file has one sentence .",
)
# {new} is a path to which no run has written. A name of a script in braces is
# the path to which that script wrote last.
COMMANDS = {
    "build_vocab": "--input_file={folder}/text.txt --output_file={new}",
    "create_pretraining_data": "--input_file={folder}/text.txt "
    "--output_file={new} --vocab_file={folder}/vocab.txt --max_seq_length=16 "
    "--max_predictions_per_seq=3",
    "run_pretraining": "--input_file={create_pretraining_data} "
    "--vocab_file={folder}/vocab.txt --output_dir={new} "
    "--bert_config_file={folder}/bert_config.json --max_seq_length=16 "
    "--max_predictions_per_seq=3 --num_train_steps=1 --num_warmup_steps=1",
    "run_finetuning": "--task=glue/sst2 --data_dir={folder} "
    "--checkpoint={run_pretraining} --output_dir={new} "
    "--max_seq_length=16 --train_batch_size=80 --num_train_epochs=1",
    "export_model": "--model_dir={run_finetuning} --export_dir={new}",
    "predict": "--model_dir={export_model} film",
    "serve": "--model_dir={export_model} --host=127.0.0.1 --port=0",
    "embed": "--model_dir={run_pretraining} --input_file={folder}/text.txt "
    "--output_file={new}.npy",
    "convert_checkpoint": "--input={run_pretraining} --output={new} "
    "--to=huggingface",
}
# Script -> a part of the line that it prints at its first step or first answer.
SIGNS = {
    "run_pretraining": "Step 1 of 1: ",
    "run_finetuning": "Step 1 of 1: ",
    "predict": '{"sentence": ',
    "serve": '"loaded"',
}
# Runs a script, and then prints how many modules the script has imported.
RUN = """
import atexit, runpy, sys
del sys.argv[0]
atexit.register(lambda: print(len(sys.modules)))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--work_dir", required=True, type=Path)
    parser.add_argument("--before", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    paths = {"folder": args.work_dir.resolve()}
    write_inputs(paths["folder"])
    roots = [ROOT, args.before] if args.before else [ROOT]
    print("| script | --help, s | first step or answer, s | modules |")
    print("|---|---|---|---|", flush=True)
    for script, flags in COMMANDS.items():
        help_time, _ = compare(roots, args.rounds, script, "--help", paths)
        row = (
            script,
            help_time,
            *compare(roots, args.rounds, script, flags, paths),
        )
        print("|", " | ".join(row), "|", flush=True)


def write_inputs(folder):
    folder.mkdir(parents=True)
    lines = [*SENTENCES, "", *reversed(SENTENCES), ""] * 20
    (folder / "text.txt").write_text("\n".join(lines))
    words = sorted(set(" ".join(SENTENCES).split()))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    config = json.loads(TINY.read_text()) | {"vocab_size": len(pieces)}
    (folder / "bert_config.json").write_text(json.dumps(config))
    rows = [f"{text}\t{i % 2}" for i, text in enumerate(SENTENCES * 20)]
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text(
            "\n".join(["sentence\tlabel", *rows]) + "\n"
        )


def compare(roots, rounds, script, flags, paths):
    """Returns a command's time and number of imported modules, as strings."""
    rows = [
        [run(root, script, flags, paths) for root in roots]
        for _ in range(rounds + 1)
    ][1:]  # the first round reads the files from disk
    times = [[seconds for seconds, _ in row] for row in rows]
    counts = [str(num_modules) for _, num_modules in rows[-1]]
    medians = [statistics.median(x) for x in zip(*times, strict=True)]
    if len(roots) == 1:
        return f"{medians[0]:.2f}", counts[0]
    ratios = [before / ours for ours, before in times]
    time_and_ratios = (
        f"{medians[0]:.2f}, before {medians[1]:.2f}: "
        f"{statistics.median(ratios):.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )
    return time_and_ratios, f"{counts[0]}, before {counts[1]}"


numbers = itertools.count()


def run(root, script, flags, paths):
    """Runs a script; returns its seconds and the number of imported modules.

    The time is until the script prints its sign, if it has one, or until it
    ends.
    """
    new = paths["folder"] / f"{script}-{next(numbers)}"
    sign = SIGNS.get(script) if flags != "--help" else None
    seconds = None
    begin = time.perf_counter()
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", RUN),
            str(root / "run_scripts" / f"{script}.py"),
            *flags.format(new=new, **paths).split(),
        ],
        env={
            **os.environ,
            "PYTHONPATH": f"{root}{os.pathsep}{root / 'run_scripts'}",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    output = []
    for line in process.stdout:
        output.append(line)
        if sign and sign in line and seconds is None:
            seconds = time.perf_counter() - begin
            if script == "serve":
                process.terminate()
    status = process.wait()
    if status and flags != "--help":  # --help has the status 1
        raise RuntimeError(f"{script} failed:\n{''.join(output)}")
    if flags != "--help":
        paths[script] = new
    # The last line is the number of modules.
    return seconds or time.perf_counter() - begin, int(line)


if __name__ == "__main__":
    main()

r"""Fine-tunes with each combination of values, and keeps the best model.

    python examples/hyperparameter_search.py --output_dir=searched \
        --learning_rate=5e-5,3e-5,2e-5 --train_batch_size=16,32 \
        --num_train_epochs=2,3,4 --random_seed=1,2,3,4,5 \
        --task=glue/sst2 --data_dir=SST-2 --checkpoint=pretrained

This is the search in the BERT paper (A.3). All flags go to keras-bert finetune;
the flags in SEARCHED take several values. The first metric of the task decides
which model is best. If the search is interrupted, run the command again: it
continues.
"""

import csv
import itertools
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

SEARCHED = (
    "learning_rate",
    "train_batch_size",
    "num_train_epochs",
    "random_seed",
)


def search(output_dir: Path, flags: dict[str, str]) -> list[dict[str, str]]:
    """Returns a row for each run, best first; writes the rows to search.csv."""
    output_dir.mkdir(parents=True, exist_ok=True)
    check_is_same_search(output_dir / "search.json", flags)
    values = {
        name: text.split(",") if name in SEARCHED else [text]
        for name, text in flags.items()
    }
    varied = [name for name in values if len(values[name]) > 1]
    rows = []
    for combination in itertools.product(*values.values()):
        settings = dict(zip(values, combination, strict=True))
        row = {name: settings[name] for name in varied}
        folder = folder_of(output_dir, row)
        done = folder / "done.json"
        if not done.exists():
            finetune(folder, settings, cache_dir=output_dir / "encoded")
            (folder / "eval_results.json").replace(done)
        # A finished run does not need its checkpoints, which are large.
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        rows.append(row | json.loads(done.read_text()))
        metric = next(x for x in rows[0] if x not in (*varied, "loss"))
        rows.sort(key=lambda row: score(row[metric]), reverse=True)
        for worse in rows[1:]:
            best = folder_of(output_dir, {x: worse[x] for x in varied}) / "best"
            shutil.rmtree(best, ignore_errors=True)
        with (output_dir / "search.csv").open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    return rows


def check_is_same_search(file, flags):
    """Writes the flags; exits if the folder contains runs with other flags."""
    if file.exists() and json.loads(file.read_text()) != flags:
        sys.exit(
            f"Error: The runs in {file.parent} have other flags; give the "
            f"flags that {file} lists, or another --output_dir."
        )
    file.write_text(json.dumps(flags, indent=2))


def folder_of(output_dir, row):
    return output_dir / (",".join(f"{x}={row[x]}" for x in row) or "run")


def finetune(folder, settings, cache_dir):
    print(f"\n== {folder.name}", flush=True)
    flags = settings | {"output_dir": folder, "cache_dir": cache_dir}
    command = [sys.executable, "-m", "keras_bert", "finetune"]
    command += [f"--{name}={value}" for name, value in flags.items()]
    if status := subprocess.run(command).returncode:
        sys.exit(status)  # finetune has printed why


def score(value):
    """Returns a number to sort by; None, an undefined metric, is the worst."""
    return -math.inf if value is None else value


def main(arguments):
    flags = {}
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not equals:
            sys.exit(f"Error: {argument} has no value; write --name=value.")
        flags[name] = value
    if "output_dir" not in flags:
        sys.exit(f"{__doc__}\nError: Give --output_dir.")
    best, *_ = search(Path(flags.pop("output_dir")), flags)
    print("\nThe best run:", json.dumps(best))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Writes the files of SQuAD's official tools, and a report by length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from keras_bert.io.whole_files import atomic_path
from keras_bert.kinds.span.metrics import exact_matches, f1_scores

# The smallest number of words of each bucket.
_BUCKETS = (0, 1, 2, 3, 5, 9, 17)


def write_prediction_files(
    folder: Path,
    ids: Sequence[str],
    answers: Sequence[Mapping],
    *,
    with_null_odds: bool,
) -> None:
    """Writes the files of google-research/bert, run_squad.py.

    These are `predictions.json` and, for SQuAD 2.0, `null_odds.json`, which
    the official evaluation takes, and `nbest_predictions.json`.
    """
    files = {"predictions": "answer", "nbest_predictions": "nbest"}
    if with_null_odds:
        files["null_odds"] = "null_odds"
    for name, key in files.items():
        values = {
            id_: answer[key] for id_, answer in zip(ids, answers, strict=True)
        }
        with atomic_path(folder / f"{name}.json") as path:
            path.write_text(json.dumps(values, indent=4) + "\n")


def write_answer_lengths(
    folder: Path, gold: Sequence[Sequence[str]], predicted: Sequence[str]
) -> None:
    """Writes `answer_lengths.tsv` and `.png`: metrics by length of the answer.

    The length is the number of words of the first gold answer; 0 if there is
    no answer.
    """
    num_words = [len(texts[0].split()) if texts else 0 for texts in gold]
    bucket = np.searchsorted(_BUCKETS, num_words, "right") - 1
    scores = [
        100 * scores_of(gold, predicted)
        for scores_of in (exact_matches, f1_scores)
    ]
    table = []
    for i, least in enumerate(_BUCKETS):
        if (bucket == i).any():
            mean = [float(x[bucket == i].mean()) for x in scores]
            table.append((_bucket_name(i, least), sum(bucket == i), *mean))
    with atomic_path(folder / "answer_lengths.tsv") as path:
        lines = ["words\tquestions\texact_match\tf1\n"]
        lines += [f"{w}\t{n}\t{em:.2f}\t{f1:.2f}\n" for w, n, em, f1 in table]
        path.write_text("".join(lines), encoding="utf-8")

    from matplotlib.figure import Figure  # late: it takes a second

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(table))
    _, _, *columns = zip(*table, strict=True)
    for shift, label, values in zip(
        (-0.2, 0.2), ("exact match", "F1"), columns, strict=True
    ):
        axes.bar(places + shift, values, width=0.4, label=label)
    axes.set_xticks(places, [f"{words}\n({n})" for words, n, *_ in table])
    axes.set_xlabel("words of the answer (questions)")
    axes.set_ylabel("per cent")
    axes.set_ylim(0, 100)
    figure.legend(loc="outside upper center", ncols=2)
    with atomic_path(folder / "answer_lengths.png") as path:
        figure.savefig(path, format="png", dpi=120)


def _bucket_name(i, least):
    if i + 1 == len(_BUCKETS):
        return f"{least}+"
    most = _BUCKETS[i + 1] - 1
    return str(least) if most == least else f"{least}-{most}"

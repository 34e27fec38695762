"""A model -> its version in the format that is the fastest on this machine."""

import math
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from absl import logging

from keras_bert.errors import InputError
from keras_bert.export.config import PRECISIONS, ExportConfig
from keras_bert.io.paths import to_path
from keras_bert.predict.served_model import ServedModel
from keras_bert.predict.versions import new_version
from keras_bert.progress import shown_log

# Case -> the number of texts per call, and the number of words per text. A long
# text fills a sequence.
_CASES = {"1 short text": (1, 6), "8 long texts": (8, 600)}
_NUM_ROUNDS = 7

# Format -> the milliseconds of each case, or why the format was not written.
Measured = dict[str, dict[str, float] | str]


@shown_log()
def export_fastest(
    export: Callable[[Path, ExportConfig], Path],
    export_dir: str | Path,
    precision: str,
) -> tuple[Path, Measured]:
    """Writes the next version of a model, in the fastest format.

    Returns the version's folder, and the measurements. `export` writes a
    version into a folder. The formats take turns to answer short and long
    texts, and a format's best time for each of the two cases counts. The
    fastest format is the one with the smallest product of its two times. The
    log shows a table of the times.

    Raises InputError if no format can be written.
    """
    # The last part of the folder's path is the title of the model card.
    title = to_path(export_dir).absolute().name
    measured: Measured = {}
    with tempfile.TemporaryDirectory(prefix="keras_bert-") as folder:
        models = {}
        for name, known in PRECISIONS.items():
            if precision not in known:
                continue
            try:
                config = ExportConfig(name, precision)
                version = export(Path(folder, name, title), config)
                models[name] = ServedModel(version)
            except InputError as error:  # such as a missing package
                measured[name] = str(error)
        if not models:
            raise InputError(str(next(iter(measured.values()))))
        milliseconds = _measure(models)
        measured |= milliseconds
        times = {x: math.prod(y.values()) for x, y in milliseconds.items()}
        fastest = min(times, key=times.__getitem__)
        with new_version(export_dir, fastest) as written:
            source = models[fastest].folder
            shutil.copytree(source, written.path, dirs_exist_ok=True)
    for name, shown in measured.items():
        if not isinstance(shown, str):
            shown = ", ".join(f"{x}: {ms:.1f} ms" for x, ms in shown.items())
        logging.info("%-12s %s", name, shown)
    logging.info("%s is the fastest on this machine.", fastest)
    return written.path, measured


def _measure(models: dict[str, ServedModel]) -> dict[str, dict[str, float]]:
    milliseconds: dict[str, dict[str, float]] = {x: {} for x in models}
    for case, (num_texts, num_words) in _CASES.items():
        text = " ".join(["word"] * num_words)
        best = dict.fromkeys(models, math.inf)
        # The first round only warms up.
        for _ in range(1 + _NUM_ROUNDS):
            for name, model in models.items():
                request = {
                    x: [text, text] if model.is_list(x) else text
                    for x in model.inputs
                }
                start = time.perf_counter()
                model.answer([request] * num_texts)
                best[name] = min(best[name], time.perf_counter() - start)
        for name, seconds in best.items():
            milliseconds[name][case] = round(1000 * seconds, 3)
    return milliseconds

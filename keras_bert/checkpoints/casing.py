"""Whether a checkpoint was trained on lower-cased text."""

from __future__ import annotations

import json
import re
from pathlib import Path

from absl import logging

from keras_bert.checkpoints.find import checkpoint_folder

# "cased_L-12_H-768_A-12", "bert-base-uncased", "multi_cased_L-12_H-768_A-12".
_CASE_IN_NAME = re.compile(r"(?<![a-z])(un)?cased(?![a-z])", re.IGNORECASE)


def is_lower_case(checkpoint: str | Path) -> bool | None:
    """What a checkpoint says, by the files beside it or by its name.

    Asked are `do_lower_case` of tokenizer_config.json (Hugging Face) and
    task.json (ours), then the last two parts of the path. Returns None where
    none of them says anything.
    """
    folder = checkpoint_folder(checkpoint)
    for name in ("tokenizer_config.json", "task.json"):
        if (folder / name).is_file():
            values = json.loads((folder / name).read_text(encoding="utf-8"))
            if "do_lower_case" in values:
                return bool(values["do_lower_case"])
    in_name = _CASE_IN_NAME.search("/".join(Path(checkpoint).parts[-2:]))
    return None if in_name is None else in_name[1] is not None


def warn_of_other_case(checkpoint: str | Path, do_lower_case: bool) -> None:
    """Warns where the checkpoint says otherwise than `do_lower_case`."""
    lower_case = is_lower_case(checkpoint)
    if lower_case is not None and lower_case != do_lower_case:
        logging.warning(
            "%s was trained on %s text, but do_lower_case is %s; set "
            "--do_lower_case=%s unless this is meant.",
            checkpoint,
            "lower-cased" if lower_case else "cased",
            str(do_lower_case).lower(),
            str(lower_case).lower(),
        )

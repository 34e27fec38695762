"""The table of all works that are compared: a file for each kind of work.

To add a peer, write a file for it in contestants/, in the folder of the work,
and name this file in the work's file here. To add a work, add a folder in
contestants/ and a file here. Preparations make the files that contestants read;
the work's file defines them.

A file defines `works(setup)` and, if needed, `preparations(setup)`.
"""

from __future__ import annotations

from comparison.work import Preparation, Setup, Work

from works import (
    accelerator,
    classification,
    finetuning,
    growth,
    inference,
    pretraining_data,
    pretraining_step,
    tokenization,
)

_FILES = (
    pretraining_step,
    inference,
    finetuning,
    classification,
    tokenization,
    pretraining_data,
    growth,
    accelerator,
)


def works(setup: Setup) -> tuple[Work, ...]:
    """Returns all works, in the order of the tables."""
    return tuple(work for file in _FILES for work in file.works(setup))


def preparations(setup: Setup) -> dict[str, Preparation]:
    """Returns the folders of files that contestants need, by name."""
    return {
        name: preparation
        for file in _FILES
        if hasattr(file, "preparations")
        for name, preparation in file.preparations(setup).items()
    }

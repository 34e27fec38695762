"""The similarity of two sentences as the cosine of their embeddings.

The files are those of the tasks glue/stsb (Cer et al. 2017) and korsts (Ham et
al. 2020).
"""

import dataclasses

from keras_bert.tasks import glue, korsts
from keras_bert.tasks.base import Task


def _as_vectors(task: Task) -> Task:
    return dataclasses.replace(
        task,
        kind="embedding",
        metrics=("spearman", "pearson"),
        settings={"loss": "cosent"},
    )


TASKS = {
    "embedding/stsb": _as_vectors(glue.TASKS["glue/stsb"]),
    "embedding/korsts": _as_vectors(korsts.TASKS["korsts"]),
}

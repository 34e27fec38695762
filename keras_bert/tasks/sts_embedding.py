"""Similarity of sentences, 0 to 5, as the cosine of their vectors.

The files are those of the tasks glue/stsb (Cer et al. 2017) and korsts (Ham et
al. 2020).
"""

import dataclasses

from keras_bert.tasks import glue, korsts

_AS_VECTORS = {
    "kind": "embedding",
    "metrics": ("spearman", "pearson"),
    "settings": {"loss": "cosent"},
}
TASKS = {
    "embedding/stsb": dataclasses.replace(
        glue.TASKS["glue/stsb"], **_AS_VECTORS
    ),
    "embedding/korsts": dataclasses.replace(
        korsts.TASKS["korsts"], **_AS_VECTORS
    ),
}

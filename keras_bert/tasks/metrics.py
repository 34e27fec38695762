"""The official metrics, by the libraries that the field uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import stats
from sklearn import metrics as sklearn_metrics

# Name -> function of (gold, predicted): ids of labels, or numbers.
METRICS: Mapping[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": sklearn_metrics.accuracy_score,
    # Of label 1, as the GLUE server scores MRPC and QQP.
    "f1": sklearn_metrics.f1_score,
    "matthews": sklearn_metrics.matthews_corrcoef,
    "pearson": lambda gold, predicted: stats.pearsonr(gold, predicted)[0],
    "spearman": lambda gold, predicted: stats.spearmanr(gold, predicted)[0],
}

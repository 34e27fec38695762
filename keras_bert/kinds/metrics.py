"""The official metrics, by the libraries that the field uses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from scipy import stats
from seqeval import metrics as seqeval_metrics
from sklearn import metrics as sklearn_metrics

from keras_bert.kinds.span import metrics as squad_metrics

Metric = Callable[[Sequence, Sequence], float]


def _of_entities(score):
    """seqeval knows a type by the prefix of its tags; a bare one gets I-."""

    def of_tags(gold, predicted):
        gold, predicted = (
            [
                [
                    t if t == "O" or t[:2] in ("B-", "I-") else f"I-{t}"
                    for t in x
                ]
                for x in tags
            ]
            for tags in (gold, predicted)
        )
        return score(gold, predicted, zero_division=0)

    return of_tags


def _correlation(correlate):
    """Undefined, nan, of a single row, as it is of rows that are all alike."""

    def of_numbers(gold, predicted):
        return correlate(gold, predicted)[0] if len(gold) > 1 else math.nan

    return of_numbers


# Head -> name -> function of (gold, predicted), of all rows. These are ids of
# labels or of endings, numbers, lists of tags, or, of a span, lists of gold
# answers' texts and the predicted texts.
METRICS: Mapping[str, Mapping[str, Metric]] = {
    "classification": {
        "accuracy": sklearn_metrics.accuracy_score,
        # Of label 1, as the GLUE server scores MRPC and QQP.
        "f1": sklearn_metrics.f1_score,
        "matthews": sklearn_metrics.matthews_corrcoef,
    },
    "regression": {
        "pearson": _correlation(stats.pearsonr),
        "spearman": _correlation(stats.spearmanr),
    },
    "multiple_choice": {"accuracy": sklearn_metrics.accuracy_score},
    # Of whole entities, as the script conlleval counts them; but accuracy is
    # of words.
    "token_classification": {
        "f1": _of_entities(seqeval_metrics.f1_score),
        "precision": _of_entities(seqeval_metrics.precision_score),
        "recall": _of_entities(seqeval_metrics.recall_score),
        "accuracy": seqeval_metrics.accuracy_score,
    },
    "span": {
        "exact_match": squad_metrics.exact_match,
        "f1": squad_metrics.f1,
    },
}

"""KorSTS (Ham et al. 2020): how similar two Korean sentences are, 0 to 5."""

from keras_bert.tasks import readers
from keras_bert.tasks.base import Task

TASKS = {
    "korsts": Task(
        kind="regression",
        text_fields=("sentence1", "sentence2"),
        metrics=("spearman", "pearson"),
        read=readers.tsv(
            columns={
                "sentence1": "sentence1",
                "sentence2": "sentence2",
                "label": "score",
            },
            train="sts-train.tsv",
            validation="sts-dev.tsv",
            # The test set has its scores: it is evaluated here.
            validation_test="sts-test.tsv",
        ),
        validation_splits=("validation", "validation_test"),
        test_files={},
        settings={"min_value": 0.0, "max_value": 5.0},
        examples=(
            {
                "sentence1": "한 남자가 춤을 추고 있다.",
                "sentence2": "남자가 춤을 춘다.",
                "label": "4.500",
            },
            {
                "sentence1": "비행기가 이륙하고 있다.",
                "sentence2": "아이가 말을 타고 있다.",
                "label": "0.200",
            },
        ),
    ),
}

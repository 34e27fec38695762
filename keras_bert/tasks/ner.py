"""CoNLL-2003 (Tjong Kim Sang and De Meulder 2003): names of four types."""

from keras_bert.tasks.base import Task
from keras_bert.tasks.conll import conll

_LABELS = (
    "O",
    "B-PER",
    "I-PER",
    "B-ORG",
    "I-ORG",
    "B-LOC",
    "I-LOC",
    "B-MISC",
    "I-MISC",
)

TASKS = {
    "ner/conll2003": Task(
        kind="token_classification",
        text_fields=("words",),
        labels=_LABELS,
        metrics=("f1", "precision", "recall", "accuracy"),
        read=conll(
            train="train.txt",
            validation="valid.txt",
            test="test.txt",
            labels=_LABELS,
        ),
        # The test set has labels, so it is scored too.
        validation_splits=("validation", "test"),
        test_files={},
        examples=(
            {
                "words": ["John", "Smith", "was", "in", "New", "York", "."],
                "label": ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC", "O"],
            },
            {
                "words": ["The", "German", "film", "of", "the", "BBC"],
                "label": ["O", "B-MISC", "O", "O", "O", "B-ORG"],
            },
        ),
    ),
}

import numpy as np
import pytest
from sklearn.metrics import ConfusionMatrixDisplay

from keras_bert.kinds.reports import write_confusion_matrix, write_worst_errors


def test_the_hundred_worst_errors_with_the_worst_first(tmp_path):
    errors = [("a", "b", (i * 37 % 211) / 1000, f"{i}") for i in range(211)]
    write_worst_errors(tmp_path / "e.tsv", ("g", "p", "s", "t"), errors)
    lines = (tmp_path / "e.tsv").read_text().splitlines()
    assert lines[0] == "g\tp\ts\tt"
    scores = [line.split("\t")[2] for line in lines[1:]]
    assert scores == [f"{i / 1000:.4f}" for i in range(210, 110, -1)]


def test_tabs_and_line_breaks_of_a_text_become_spaces(tmp_path):
    write_worst_errors(
        tmp_path / "e.tsv", ("text",), [("a", "b", 1.0, "ä\tb\r\n\u2028 c ")]
    )
    assert (tmp_path / "e.tsv").read_text(
        "utf-8"
    ) == "text\na\tb\t1.0000\tä b c\n"


@pytest.fixture
def drawn(monkeypatch):
    """The displays that are drawn."""
    displays = []
    draw = ConfusionMatrixDisplay.from_predictions

    def draw_and_keep(*args, **kwargs):
        displays.append(draw(*args, **kwargs))
        return displays[-1]

    monkeypatch.setattr(
        ConfusionMatrixDisplay, "from_predictions", draw_and_keep
    )
    return displays


@pytest.mark.pictures
def test_the_confusion_matrix_of_a_few_labels(tmp_path, drawn):
    gold, predicted = [0, 0, 2, 1], [0, 2, 2, 0]
    write_confusion_matrix(tmp_path, gold, predicted, ("a", "b", "c"))
    (display,) = drawn
    assert display.confusion_matrix.tolist() == [
        [1, 0, 1],
        [1, 0, 0],
        [0, 0, 1],
    ]
    assert display.display_labels == ["a", "b", "c"]
    file = tmp_path / "confusion_matrix.png"
    assert file.read_bytes().startswith(b"\x89PNG")


def test_the_confusion_matrix_of_a_thousand_labels_is_small(tmp_path, drawn):
    random = np.random.default_rng(8)
    labels = tuple(f"label {i}" for i in range(1000))
    # The larger numbers are frequent.
    gold, predicted = (1000 * random.random((2, 5000)) ** 0.2).astype(int)
    write_confusion_matrix(tmp_path, gold, predicted, labels)
    (display,) = drawn
    assert max(display.figure_.get_size_inches()) < 22
    names, matrix = display.display_labels, display.confusion_matrix
    assert len(names) == 30
    counts = np.bincount(gold, minlength=1000)
    kept = [labels.index(name) for name in names]
    assert sorted(counts[kept]) == sorted(counts)[-30:]
    for i, label in enumerate(kept):
        for j, other in enumerate(kept):
            pairs = (gold == label) & (predicted == other)
            assert matrix[i, j] == pairs.sum()

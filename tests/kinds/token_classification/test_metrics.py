from keras_bert.kinds.token_classification.entities import METRICS


def test_the_figures_of_conlleval(shared):
    text = (shared / "golden" / "ner_conlleval.txt").read_text()
    sentences = [
        [line.split(" ") for line in block.splitlines()]
        for block in text.strip().split("\n\n")
    ]
    gold = [[tag for _, tag, _ in lines] for lines in sentences]
    predicted = [[tag for _, _, tag in lines] for lines in sentences]
    figures = {
        name: round(100 * METRICS[name](gold, predicted), 2)
        for name in ("precision", "recall", "f1")
    }
    assert figures == {"precision": 63.13, "recall": 91.57, "f1": 74.73}
    num_right = sum(a == b for lines in sentences for _, a, b in lines)
    num_words = sum(map(len, sentences))
    assert METRICS["accuracy"](gold, predicted) == num_right / num_words


def test_a_model_that_finds_nothing_scores_0():
    gold, predicted = [["B-PER", "O", "O"]], [["O", "O", "O"]]
    figures = {
        name: metric(gold, predicted) for name, metric in METRICS.items()
    }
    assert figures == {"f1": 0, "precision": 0, "recall": 0, "accuracy": 2 / 3}


def test_tags_without_a_prefix_are_entities_too():
    """The O of ORG is not the tag O."""
    gold, predicted = [["PER", "O", "ORG", "ORG"]], [["PER", "O", "O", "O"]]
    figures = {
        name: METRICS[name](gold, predicted)
        for name in ("precision", "recall", "accuracy")
    }
    assert figures == {"precision": 1, "recall": 0.5, "accuracy": 0.5}

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize
from kind_examples import make_kind, serve
from seqeval.metrics.sequence_labeling import get_entities

from keras_bert.errors import InputError
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.kinds.token_classification.entities import find_entities

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
ROWS = [
    {
        "words": ["The", "unaffable", "fox", "jumped", "."],
        "label": ["O", "B-PER", "I-PER", "O", "O"],
    },
    {"words": ["\x01"], "label": ["B-LOC"]},
    {"words": [], "label": []},
    {
        # 13 tokens, in windows of 8
        "words": "a good dog jumps over the lazy , very lazy fox ?".split(),
        "label": "O B-PER I-PER O O O B-LOC B-LOC I-LOC O I-PER O".split(),
    },
]


@pytest.fixture(scope="module")
def build(config, vocab_file):
    def build(**changes):
        spec = {"labels": LABELS, "max_seq_length": 10, **changes}
        return make_kind("token_classification", vocab_file, config, **spec)

    return build


@pytest.fixture(scope="module")
def kind(build):
    return build()


@pytest.fixture(scope="module")
def finetuned(kind, config):
    keras.utils.set_random_seed(12345)
    model = kind.build_model(config)
    randomize(model)
    # So that the answers depend on the words.
    kernel, bias = model.get_layer("token_classifier").weights
    kernel.assign(20 * kernel)
    bias.assign([-10.0, 0.0, 3.0, 0.0, 3.0])
    return FinetunedModel(model, kind, config)


def test_the_label_is_on_the_first_piece_of_a_word(kind):
    examples = kind.encode(ROWS, labeled=True)
    assert examples.rows.tolist() == [0, 1, 2, 3, 3, 3]
    assert examples.features["input_ids"].to_list()[:4] == [
        [2, 5, 20, 21, 22, 9, 10, 12, 16, 3],
        [2, 1, 3],
        [2, 3],
        [2, 6, 25, 15, 10, 11, 13, 5, 14, 3],
    ]
    segment_ids = examples.features["segment_ids"]
    assert segment_ids.row_lengths().numpy().tolist() == [10, 3, 2, 10, 10, 10]
    assert not segment_ids.values.numpy().any()
    assert examples.labels["logits"].to_list() == [
        [-1, 0, 1, -1, -1, 2, 0, -1, 0, -1],
        [-1, 3, -1],
        [-1, -1],
        [-1, 0, 1, 2, 0, -1, 0, -1, -1, -1],
        [-1, -1, -1, 0, 3, -1, -1, -1, -1, -1],
        [-1, -1, -1, -1, 3, 4, 0, 2, 0, -1],
    ]
    assert kind.encode(ROWS, labeled=False).labels == {}


@pytest.mark.parametrize(
    ("labels", "tags", "settings", "expected"),
    [
        # "fox." is two words of a text, and "unaffable" is one.
        (LABELS, "B-PER I-PER O", {}, [1, 2, 2, -1, -1, 0, 0, 0]),
        (LABELS, "O B-LOC O", {"crf": True}, [1, 1, 4, -1, -1, 1, 1, 1]),
        (
            LABELS,
            "B-PER B-LOC O",
            {"entity_grouping": "simple"},
            [1, 2, 3, 4, 4, 0, 0, 0],
        ),
        (("DOG", "FOX"), "FOX DOG DOG", {}, [1, 1, 0, -1, -1, 0, 0, 0]),
        (
            ("O", "B-X", "E-X", "S-X"),
            "B-X E-X S-X",
            {"crf": True},
            [2, -1, 3, -1, -1, 4, -1, -1],
        ),
    ],
)
def test_a_word_that_a_text_splits_is_learned_whole(
    build, labels, tags, settings, expected
):
    kind = build(labels=labels, **settings)
    row = {"words": ["fox.", "unaffable", "dog!?"], "label": tags.split()}
    (found,) = kind.encode([row], labeled=True).labels.values()
    assert found.to_list() == [[-1, *expected, -1]]
    # The words are read at their first tokens, as ever.
    _, windows = kind.encode([row], labeled=False).tokens
    assert windows.is_read.to_list() == [[0, 1, 0, 1, 0, 0, 1, 0, 0, 0]]


def test_what_is_inside_of_words_of_the_training_set_splits_no_text(
    build, finetuned, config
):
    # Neither a hyphen between spaces, nor a point at an end.
    rows = [{"words": ["fox-dog", "a.", "-", "1-2", "good"]}]
    learned = build().settings_from_data(rows)
    assert learned == {"inner_punctuation": "-"}
    assert build(inner_punctuation="").settings_from_data(rows) == {}
    rows = [{"words": ["fox-dog"] + ["film"] * 1000}]
    assert build().settings_from_data(rows) == {"inner_punctuation": ""}

    kind = build(inner_punctuation=".-")
    model = FinetunedModel(finetuned.model, kind, config)
    texts = ["fox.dog. a - dog", "", ".", ".fox", "bad.fox.unaffable !"]
    words = [
        ["fox.dog", ".", "a", "-", "dog"],
        [],
        ["."],
        [".", "fox"],
        ["bad.fox.unaffable", "!"],
    ]
    of_texts = model.predict([{"text": text} for text in texts])
    of_words = model.predict([{"words": words} for words in words])
    found, expected = (
        [
            [(x["type"], x["text"].replace(" ", "")) for x in row["entities"]]
            for row in answers
        ]
        for answers in (of_texts, of_words)
    )
    assert found == expected
    assert sum(map(len, found)) > 4


def test_a_word_gets_the_label_of_its_first_token(kind):
    """The logits are those of a network that labels a token by its id."""
    examples = kind.encode(ROWS, labeled=False)
    logits = [
        np.eye(len(LABELS))[np.array(ids + [3] * i) % len(LABELS)] * 9
        for i, ids in enumerate(examples.features["input_ids"].to_list())
    ]
    answers = kind.decode(ROWS, examples, {"logits": logits})
    first_pieces = [
        [5, 20, 9, 10, 16],
        [1],
        [],
        [6, 25, 15, 10, 13, 5, 14, 17, 28, 14, 9, 19],
    ]
    for answer, ids in zip(answers, first_pieces, strict=True):
        assert answer["tags"] == [LABELS[i % len(LABELS)] for i in ids]
        probability = np.exp(9) / (np.exp(9) + 4)
        np.testing.assert_allclose(answer["scores"], probability, rtol=1e-6)
        # seqeval's end is the last word of an entity.
        expected = get_entities(answer["tags"]) if ids else []
        assert expected == [
            (entity["type"], entity["start_word"], entity["end_word"] - 1)
            for entity in answer["entities"]
        ]
    assert answers[3]["entities"][0] == {
        "type": "PER",
        "text": "a",
        "start_word": 0,
        "end_word": 1,
        "score": pytest.approx(probability),
    }
    assert kind.submission(answers[0]) == "O O I-LOC O B-PER"


def test_entities_are_those_of_seqeval():
    random = np.random.default_rng(5)
    lengths = random.integers(0, 12, 300)
    ids = random.integers(0, len(LABELS), lengths.sum())
    scores = random.random(len(ids)).astype("float32")
    ragged_ids, ragged_scores = (
        tf.RaggedTensor.from_row_lengths(x, lengths) for x in (ids, scores)
    )
    for mean_score, join in ((False, min), (True, np.mean)):
        found = find_entities(ragged_ids, ragged_scores, LABELS, mean_score)
        for row, row_scores, *entities in zip(
            *(x.to_list() for x in (ragged_ids, ragged_scores, *found)),
            strict=True,
        ):
            tags = [LABELS[i] for i in row]
            assert list(zip(*entities, strict=True)) == [
                (
                    kind.encode(),
                    first,
                    last,
                    pytest.approx(join(row_scores[first : last + 1])),
                )
                for kind, first, last in (get_entities(tags) if tags else [])
            ]


# Spaces, control characters, accents, a character of 4 bytes, and more words
# than fit into a window.
_TEXTS = [
    "  The \x01unáffable𐐀fox jumped.",
    "",
    "the lazy, very quick dog! " * 5,
    "très good",
]
_WORDS = [
    ["The", "\x01unáffable𐐀fox", "jumped", "."],
    [],
    ["the", "lazy", ",", "very", "quick", "dog", "!"] * 5,
    ["très", "good"],
]


def test_the_entities_of_a_text_are_those_of_its_words(finetuned):
    answers = finetuned.predict([{"text": text} for text in _TEXTS])
    of_words = finetuned.predict([{"words": words} for words in _WORDS])
    counts = [len(answer["entities"]) for answer in of_words]
    assert counts[1] == 0 < min(counts[0], counts[3]) and counts[2] > 5
    for text, words, answer, expected in zip(
        _TEXTS, _WORDS, answers, of_words, strict=True
    ):
        assert "tags" not in answer
        end, spans = 0, []
        for word in words:
            start = text.index(word, end)
            end = start + len(word)
            # No token starts with a character that cleaning removes.
            spans.append((start + word.startswith("\x01"), end))
        for entity, of_words in zip(
            answer["entities"], expected["entities"], strict=True
        ):
            start = spans[of_words["start_word"]][0]
            end = spans[of_words["end_word"] - 1][1]
            assert entity == {
                "type": of_words["type"],
                "text": text[start:end],
                "start": start,
                "end": end,
                "score": pytest.approx(of_words["score"], abs=1e-5),
            }


@pytest.mark.slow  # test_signatures asks a model of each kind about texts
def test_the_served_model_tags_words_as_predict_does(
    build, finetuned, config, tmp_path
):
    kind = build(text_fields=("tokens",))
    finetuned = FinetunedModel(finetuned.model, kind, config)
    given = [*_WORDS, ["a", "", "dog", ""]]
    rows = [{"tokens": words} for words in given if words]
    served = serve(finetuned.model, kind, tmp_path, "tokens")
    assert served.inputs == ("tokens",)
    for answer, expected in zip(
        served.answer(rows), finetuned.predict(rows), strict=True
    ):
        assert answer["tags"] == expected["tags"]
        assert answer["scores"] == pytest.approx(expected["scores"], abs=1e-5)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"words": ["a"]}, "Example 2 has no field 'label'"),
        ({"label": ["O"]}, "Example 2 has no field 'words'"),
        ({"words": ["a", "dog"], "label": ["O"]}, "Example 2 has 2 words and"),
        ({"words": ["a"], "label": "O"}, "has 1 words and the label 'O'; give"),
        ({"words": ["a"], "label": ["B-ORG"]}, "'B-ORG' of example 2 is not"),
        (
            {"words": "a", "label": ["O"]},
            "'a' is not a list of words of example 2",
        ),
    ],
)
def test_a_wrong_row_is_named(kind, row, message):
    with pytest.raises(InputError, match=message):
        kind.encode([ROWS[0], row], labeled=True)

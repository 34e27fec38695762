"""A kind of task that a file outside of the package defines."""

import json

import pytest
from conftest import randomize
from safetensors.numpy import save_file

import keras_bert
from keras_bert.kinds.registry import get_kind
from keras_bert.predict.served_model import ServedModel
from keras_bert.tasks.registry import get_task

# The file does not postpone its annotations, as the package does.
_FILE = '''
"""How many words a text has."""

import dataclasses

import keras
import numpy as np
import tensorflow as tf

import keras_bert


@dataclasses.dataclass(frozen=True)
class WordCountSettings(keras_bert.kinds.KindSettings):
    """Settings of a word count task.

    Attributes:
        unit: Words that count as one.
    """

    unit: int = 1


def _loss_of_batch(gold, count, weights):
    """The squared error, and that of all differences between two rows."""
    gold_gaps, gaps = (x[:, None] - x for x in (gold, count))
    return tf.reduce_mean((gold - count) ** 2) + tf.reduce_mean(
        (gold_gaps - gaps) ** 2
    )


class WordCount(keras_bert.kinds.Kind):
    """Answers with `count`, the number of words."""

    name = "word_count"
    Settings = WordCountSettings
    num_text_fields = (1,)
    metrics = {"closeness": lambda gold, found: -np.abs(gold - found).mean()}
    objectives = {"count": keras_bert.training.BatchObjective(_loss_of_batch)}
    hub = keras_bert.kinds.HubNames(
        heads=(keras_bert.checkpoints.HeadNames("counter"),)
    )

    def __init__(self, spec, tokenizer):
        super().__init__(spec, tokenizer)
        self._preprocessor = keras_bert.BertPreprocessor(
            tokenizer, spec.settings.max_seq_length
        )

    def build_model(self, bert_config):
        encoder = keras_bert.models.build_encoder(bert_config)
        count = keras.layers.Dense(1, name="counter", dtype="float32")(
            encoder.output["pooled_output"]
        )
        return keras.Model(encoder.input, {"count": count[:, 0]})

    def encode(self, rows, *, labeled):
        (field,) = self.spec.text_fields
        texts = tf.constant([row[field] for row in rows])
        return keras_bert.kinds.Examples(
            self._preprocessor.pack(texts).features,
            np.arange(len(rows)),
            {"count": tf.constant(self.gold(rows))} if labeled else {},
        )

    def decode(self, rows, examples, outputs):
        unit = self.spec.settings.unit
        return [{"count": float(count) * unit} for count in outputs["count"]]

    def gold(self, rows):
        counts = [float(row["label"]) for row in rows]
        return np.array(counts, "float32") / self.spec.settings.unit

    def predicted(self, answers):
        counts = [answer["count"] for answer in answers]
        return np.array(counts) / self.spec.settings.unit

    def submission(self, answer):
        return str(round(answer["count"]))

    def signatures(self, model):
        def answer(text):
            count = model(self._preprocessor(text))["count"]
            return {"count": count * self.spec.settings.unit}

        return {
            "serving_default": keras_bert.kinds.Signature(
                answer, self.string_inputs()
            )
        }


def read(data_dir, split):
    if split == "test":
        raise FileNotFoundError("There is no test set.")
    return [
        {"text": "fox " * n, "label": str(n)} for n in (1, 2, 3, 5, 8, 2, 4)
    ]


TASKS = {
    "words": keras_bert.Task(
        kind="word_count",
        text_fields=("text",),
        metrics=("closeness",),
        settings={"unit": 2},
        read=read,
    )
}
'''


@pytest.fixture
def task(tmp_path):
    file = tmp_path / "word_count.py"
    file.write_text(_FILE)
    return get_task(str(file))


def test_it_is_known_when_its_file_is_loaded(task):
    assert task.kind == "word_count"
    assert get_kind("word_count").Settings(unit=3).unit == 3
    with pytest.raises(keras_bert.InputError, match="unit is 0"):
        get_kind("word_count").Settings(unit=0)


@pytest.mark.slow  # test_feature_based_ner does the same with another kind
def test_it_is_trained_evaluated_and_served(task, config, vocab_file, tmp_path):
    encoder = keras_bert.models.build_encoder(config)
    randomize(encoder, scale=0.02)
    weights = {weight.path: weight.numpy() for weight in encoder.weights}
    pretrained = tmp_path / "pretrained"
    pretrained.mkdir()
    save_file(weights, pretrained / "model.safetensors")
    (pretrained / "bert_config.json").write_text(config.to_json())
    (pretrained / "vocab.txt").write_bytes(vocab_file.read_bytes())
    results = keras_bert.finetune(
        task,
        tmp_path,
        tmp_path / "run",
        checkpoint=pretrained,
        config=keras_bert.FinetuningConfig(
            learning_rate=0.02, train_batch_size=4, num_train_epochs=9
        ),
        settings={"max_seq_length": 13},
    )
    assert -1.5 < results["closeness"] < 0
    saved = json.loads((tmp_path / "run" / "best" / "task.json").read_text())
    assert saved["kind"] == "word_count"
    assert saved["settings"] == {"max_seq_length": 13, "unit": 2}

    model = keras_bert.load_finetuned(tmp_path / "run")
    rows = task.read(tmp_path, "validation")
    assert model.evaluate(rows) == pytest.approx(results)
    answers = model.predict(rows)
    model.export(tmp_path / "served")
    served = ServedModel(tmp_path / "served").answer(rows)
    assert [answer["count"] for answer in served] == pytest.approx(
        [answer["count"] for answer in answers], abs=1e-4
    )

"""Run in a process of its own: what works without tensorflow-text.

    python without_tensorflow_text.py data|training FOLDER [SHARED]

FOLDER holds what tests/test_without_tensorflow_text.py made of the same
functions with tensorflow-text. Each check prints its name when it has passed.
"""

import csv
import gzip
import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.modules["tensorflow_text"] = None
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

import keras_bert
from keras_bert.predict.saved_model import load_saved_model

TEXTS = ["The FOX jumped.", "", "an unaffable  dog, élan 狐!", "bad film " * 9]
VOCABS = {
    "uncased": "bert-base-uncased",
    "multilingual_cased": "bert-base-multilingual-cased",
}
TASKS = {
    "classification": keras_bert.Task(
        kind="classification",
        text_fields=("sentence",),
        labels=("0", "1"),
        metrics=("accuracy",),
        read=lambda data_dir, split: [
            {"sentence": "a good film", "label": "1"},
            {"sentence": "a bad, lazy Élan", "label": "0"},
        ],
        settings={"max_seq_length": 12},
    ),
    "span": keras_bert.Task(
        kind="span",
        text_fields=("question", "context"),
        metrics=("f1",),
        read=lambda data_dir, split: (
            [
                {
                    "question": "the fox",
                    "context": "The film was good. The fóx  jumped over a dog!",
                    "label": [{"text": "fóx  jumped", "answer_start": 23}],
                }
            ]
            * 2
        ),
        settings={"max_seq_length": 14, "doc_stride": 3, "max_query_length": 4},
    ),
}


def finetune(kind, folder, output_dir):
    """Two steps; returns the losses and the predictions."""
    keras_bert.finetune(
        TASKS[kind],
        folder,
        output_dir,
        checkpoint=folder / "pretrained",
        config=keras_bert.FinetuningConfig(
            num_train_epochs=2, train_batch_size=9
        ),
    )
    with (output_dir / "history.csv").open() as file:
        rows = [
            {name: x for name, x in row.items() if "loss" in name}
            for row in csv.DictReader(file)
        ]
    assert len(rows) == 2
    return [rows, (output_dir / "predictions.jsonl").read_text()]


def embed(folder):
    embedder = keras_bert.load_embedder(
        folder / "pretrained", max_seq_length=16
    )
    return embedder.embed(TEXTS).tolist()


def offsets(folder):
    tokenizer = keras_bert.load_tokenizer(folder / "pretrained")
    return [x.to_list() for x in tokenizer.tokenize_with_offsets(TEXTS)]


def write_records(folder, file, *, dynamic_masking):
    lines = ["The fox jumped.", "A bad, lazy dog!", "", "the film is not good"]
    keras_bert.create_pretraining_data(
        lines * 5,
        [file],
        keras_bert.load_tokenizer(folder / "pretrained"),
        keras_bert.PretrainingDataConfig(
            max_seq_length=16,
            max_predictions_per_seq=3,
            dupe_factor=2,
            dynamic_masking=dynamic_masking,
        ),
    )
    return file.read_bytes()


def data_ids():
    for shared in SHARED:
        file = shared / "golden/tokenizer/expected_ids.jsonl.gz"
        with gzip.open(file) as lines:
            rows = [json.loads(line) for line in lines][::40]
        assert len(rows) == 511
        texts = tf.constant([row["text"] for row in rows])
        for key, name in VOCABS.items():
            tokenizer = keras_bert.load_tokenizer(
                vocab_file=shared / f"data/vocab/{name}.vocab.txt"
            )
            assert tokenizer.implementation == "keras_bert"
            assert tokenizer(texts).to_list() == [row[key] for row in rows]


def data_places_and_vectors():
    assert offsets(FOLDER) == EXPECTED["offsets"]
    np.testing.assert_array_equal(embed(FOLDER), EXPECTED["embed"])


def data_preprocessor():
    pretrained = keras_bert.load_pretrained(FOLDER / "pretrained")
    texts = ["The fox jumped.", "a bad film"]
    ids = [[2, 5, 9, 10, 12, 16, 3], [2, 6, 26, 23, 3, 0, 0]]
    for given in (texts, np.array(texts), tf.constant(texts)):
        features = pretrained.preprocessor(given)
        assert features["input_ids"].numpy().tolist() == ids
    assert pretrained.encoder(features)["pooled_output"].shape == (2, 12)
    dataset = tf.data.Dataset.from_tensor_slices(texts).batch(2)
    (features,) = dataset.map(pretrained.preprocessor)
    assert features["input_ids"].numpy().tolist() == ids


def training_finetuning():
    for kind in TASKS:
        results = finetune(kind, FOLDER, FOLDER / f"{kind}-without")
        assert results == EXPECTED[kind]
    model = keras_bert.load_finetuned(FOLDER / "classification-without")
    rows = [{"sentence": "a good film", "label": "1"}]
    assert model.predict(rows)[0]["num_tokens"] == 5
    assert sorted(model.evaluate(rows)) == ["accuracy", "loss"]
    served = keras_bert.ServedModel(model.export(FOLDER / "served"))
    pairs = zip(served.answer(rows), model.predict(rows), strict=True)
    for answers in pairs:
        scores = ([*x["scores"].values()] for x in answers)
        np.testing.assert_allclose(*scores, atol=1e-6)


def data_records():
    for dynamic_masking in (False, True):
        name = f"records-{dynamic_masking}"
        file = FOLDER / f"{name}-without"
        written = write_records(FOLDER, file, dynamic_masking=dynamic_masking)
        assert written == (FOLDER / name).read_bytes()


def data_what_needs_tensorflow_text():
    message = "take strings need tensorflow-text"
    refuses(message, lambda: load_saved_model(FOLDER / "exported"))
    refuses(
        "Learning a vocabulary needs tensorflow-text",
        lambda: keras_bert.text.learn_vocab(["a"], "v.txt", vocab_size=100),
    )


def training_pretraining():
    file = FOLDER / "dynamic"
    write_records(FOLDER, file, dynamic_masking=True)
    figures = keras_bert.pretrain(
        keras_bert.BertConfig.from_json(FOLDER / "pretrained/bert_config.json"),
        str(file),
        FOLDER / "pretraining",
        vocab_file=FOLDER / "pretrained/vocab.txt",
        config=keras_bert.PretrainingConfig(
            num_train_steps=1,
            num_warmup_steps=1,
            train_batch_size=2,
            max_seq_length=16,
            max_predictions_per_seq=3,
        ),
    )
    assert figures["masked_lm_loss"] > 0


def refuses(message, function):
    try:
        function()
    except keras_bert.InputError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)


if __name__ == "__main__":
    PART = sys.argv[1]
    FOLDER, *SHARED = map(Path, sys.argv[2:])
    EXPECTED = json.loads((FOLDER / "expected.json").read_text())
    for name, check in list(globals().items()):
        if name.startswith(f"{PART}_"):
            check()
            print(name)

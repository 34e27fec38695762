"""Run in a process of its own: what works on a backend of Keras.

    KERAS_BACKEND=jax python on_a_backend.py FOLDER WITHOUT...

FOLDER holds what tests/test_backends.py wrote on TensorFlow. The libraries
WITHOUT cannot be imported. Each check prints its name when it has passed.
"""

import os
import sys

FOLDER, *WITHOUT = sys.argv[1:]
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
for name in WITHOUT:
    sys.modules[name] = None

import keras_bert  # noqa: E402, I001

assert not {"keras", "tensorflow", "jax", "torch"} & {
    name for name, module in sys.modules.items() if module
}

from pathlib import Path  # noqa: E402

import keras  # noqa: E402
import numpy as np  # noqa: E402

FOLDER = Path(FOLDER)


def read(name):
    with np.load(FOLDER / f"{name}.npz") as arrays:
        return dict(arrays)


def assert_close(actual, expected, atol=2e-5):
    assert actual.keys() == expected.keys()
    for name, x in expected.items():
        y = keras.ops.convert_to_numpy(actual[name])
        np.testing.assert_allclose(y, x, atol=atol, rtol=0, err_msg=name)


def check_saved_models():
    """`import keras_bert` above is all that they need."""
    loaded = set(sys.modules)
    assert not any(name.startswith("keras_bert.layers") for name in loaded)
    for file in sorted(FOLDER.glob("*.keras")):
        model = keras.saving.load_model(file)
        outputs = model(read(f"{file.stem}-inputs"))
        if not isinstance(outputs, dict):
            outputs = {"output": outputs}
        assert_close(outputs, read(f"{file.stem}-outputs"))
        if "compiled" in file.stem:
            name = type(model.optimizer).__name__.lower()
            assert name == file.stem.split("-")[1]
            assert int(model.optimizer.iterations) == 6


def check_training():
    from keras_bert.training.losses import accuracy, cross_entropy

    data = read("training")
    for name in ("AdamWeightDecay", "Lamb"):
        model = keras.saving.load_model(FOLDER / "classifier.keras")
        schedule = keras_bert.training.WarmupDecay(2e-4, 10, 3)
        optimizer = getattr(keras_bert.training, name)(schedule)
        model.compile(
            optimizer,
            {"logits": cross_entropy},
            metrics={"logits": [accuracy]},
        )
        history = model.fit(
            {n: x for n, x in data.items() if n != "labels"},
            {"logits": data["labels"]},
            batch_size=4,
            shuffle=False,
            verbose=0,
        ).history
        expected = read(f"trained-{name}")
        np.testing.assert_allclose(history["loss"], expected.pop("loss"), 1e-5)
        # The exact gradient of a key's bias is 0: Lamb scales up its rounding.
        weights = {
            w.path: w.value
            for w in model.weights
            if not w.path.endswith("key/bias")
        }
        expected = {path: expected[path] for path in weights}
        assert_close(weights, expected, 1e-6)


def check_crf():
    from keras_bert.layers.crf import crf_loss, marginals, viterbi

    given = read("given-crf")
    labels, *words = (
        given.pop(x) for x in ("labels", "logits", "is_word", "transitions")
    )
    words = list(map(keras.ops.convert_to_tensor, words))
    model = keras.saving.load_model(FOLDER / "crf.keras")
    found = {
        "loss": crf_loss(labels, model(given)["chain"]),
        "viterbi": viterbi(*words) * keras.ops.cast(words[1], "int32"),
        "marginals": marginals(*words),
    }
    model.compile(keras.optimizers.SGD(0.5), {"chain": crf_loss})
    model.fit(given, {"chain": labels}, batch_size=2, verbose=0)
    found["weight"] = model.get_layer("crf").transitions.value
    assert_close(found, read("found-crf"))


def check_checkpoints():
    for name in ("ours", "hf"):
        folder = FOLDER / name
        pretrained = keras_bert.load_pretrained(folder)
        assert pretrained.preprocessor.max_seq_length == 16
        features = pretrained.preprocessor(
            ["The fox jumped.", "a bad film"], ["so", "it was not good"]
        )
        assert_close(features, read("features"))
        assert_close(pretrained.encoder(features), read("encoded"))
        model = keras_bert.models.build_classifier(
            pretrained.config, num_labels=3
        )
        keras_bert.load_checkpoint(model, folder)
        saved = FOLDER / f"{name}-{keras.backend.backend()}-{len(WITHOUT)}"
        keras_bert.save_pretrained(model, pretrained.tokenizer, saved)
        encoder = keras_bert.load_pretrained(saved).encoder
        assert_close(encoder(features), read("encoded"))
    tokenizer = keras_bert.load_tokenizer(FOLDER / "ours")
    assert tokenizer.tokens(tokenizer(["an unaffable dog"])[0])[1:4] == [
        "un",
        "##aff",
        "##able",
    ]


def check_checkpoint_of_tensorflow():
    encoder = keras_bert.load_pretrained(FOLDER / "ours").encoder
    try:
        keras_bert.load_checkpoint(encoder, FOLDER / "tf1")
    except keras_bert.InputError as error:
        assert "tensorflow" in WITHOUT, error
        assert str(error).endswith("can read; run pip install tensorflow.")
    else:
        assert "tensorflow" not in WITHOUT


for name, check in list(globals().items()):
    if name.startswith("check_"):
        check()
        print(name)

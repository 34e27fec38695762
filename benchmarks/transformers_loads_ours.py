"""Checks that transformers loads our checkpoints and gets the same outputs.

    python benchmarks/transformers_loads_ours.py --vocab_file=vocab.txt

The peer runs in the environment of `make bench`, which is built if it is
missing. With --peer_python, the peer runs in another environment, which needs
torch and transformers.

The script builds keras_bert models with random weights and converts them.
transformers loads each model and runs it on the same inputs. Then torch saves
the model as a `.bin` file in its new format and in its old format, and
keras_bert loads both files. Prints the largest differences.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from absl import app, flags
from comparison.environments import Environments
from safetensors.numpy import save_file

import keras_bert

PEER_PYTHON = flags.DEFINE_string(
    "peer_python", None, "Python with torch and transformers."
)
VOCAB_FILE = flags.DEFINE_string(
    "vocab_file", None, "A released, uncased vocab.txt.", required=True
)
# Model -> its builder, and a mapping from our output names to transformers'.
MODELS = {
    "encoder": (
        keras_bert.models.build_encoder,
        {
            "sequence_output": "last_hidden_state",
            "pooled_output": "pooler_output",
        },
    ),
    "pretraining": (
        keras_bert.models.build_pretraining_model,
        {
            "masked_lm": "prediction_logits",
            "next_sentence": "seq_relationship_logits",
        },
    ),
    "classifier": (
        lambda config: keras_bert.models.build_classifier(config, num_labels=5),
        {"logits": "logits"},
    ),
    "regressor": (keras_bert.models.build_regressor, {"logits": "logits"}),
    "token_classifier": (
        lambda config: keras_bert.models.build_token_classifier(
            config, num_labels=9
        ),
        {"logits": "logits"},
    ),
    "span_labeler": (
        keras_bert.models.build_span_labeler,
        {"start_logits": "start_logits", "end_logits": "end_logits"},
    ),
    "multiple_choice": (
        keras_bert.models.build_multiple_choice,
        {"logits": "logits"},
    ),
}
TEXTS = ["The quick brown fox!", "Élan vital, 中文 и кириллица.", ""]


def main(_):
    config = keras_bert.BertConfig(
        vocab_size=len(keras_bert.BertTokenizer(VOCAB_FILE.value).vocab),
        hidden_size=96,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=200,
        max_position_embeddings=64,
    )
    preprocessor = keras_bert.BertPreprocessor(
        keras_bert.BertTokenizer(VOCAB_FILE.value)
    )
    ids = preprocessor.pack(TEXTS)["input_ids"].to_list()
    print("model              largest output  difference  .bin loads")
    for name, (build, outputs) in MODELS.items():
        keras.utils.set_random_seed(1)
        with tempfile.TemporaryDirectory() as folder:
            largest, difference = _compare(
                build(config), config, outputs, ids, Path(folder)
            )
        print(f"{name:18} {largest:14.3f}  {difference:10.1e}  bit-equal")


def _compare(model, config, outputs, ids, folder):
    source, converted = folder / "source", folder / "converted"
    random = np.random.default_rng(2)
    for weight in model.weights:  # so that no weight is all zeros or ones
        noise = random.normal(0, 0.1, weight.shape).astype("float32")
        weight.assign_add(noise)
    arrays = {weight.path: weight.numpy() for weight in model.weights}
    source.mkdir()
    save_file(arrays, source / "model.safetensors")
    (source / "bert_config.json").write_text(config.to_json())
    (source / "vocab.txt").write_bytes(Path(VOCAB_FILE.value).read_bytes())
    keras_bert.convert_checkpoint(source, converted, "huggingface")

    features = _features(config, num_choices=3 if "choice" in model.name else 0)
    peer_names = {
        "input_ids": "input_ids",
        "input_mask": "attention_mask",
        "segment_ids": "token_type_ids",
    }
    np.savez(
        converted / "inputs.npz",
        **{there: features[here] for here, there in peer_names.items()},
    )
    (converted / "texts.json").write_text(json.dumps(TEXTS), encoding="utf-8")
    script = Path(__file__).with_name("transformers_outputs.py")
    python = PEER_PYTHON.value or Environments().python("torch")
    subprocess.run(
        [python, script, converted],
        check=True,
        env=os.environ | {"TQDM_DISABLE": "1"},
    )

    if "masked_lm_positions" in model.input:
        shape = features["input_ids"].shape
        features["masked_lm_positions"] = np.tile(np.arange(shape[-1]), (4, 1))
    found = model({name: features[name] for name in model.input})
    expected = np.load(converted / "outputs.npz")
    pairs = [(np.asarray(found[a]), expected[b]) for a, b in outputs.items()]
    assert ids == json.loads((converted / "ids.json").read_text()), ids
    for file in ("zip.bin", "legacy.bin"):
        for weight in model.weights:
            weight.assign(weight * 0)
        keras_bert.load_checkpoint(model, converted / file)
        for weight in model.weights:
            np.testing.assert_array_equal(weight.numpy(), arrays[weight.path])
    return (
        max(abs(there).max() for _, there in pairs),
        max(abs(here - there).max() for here, there in pairs),
    )


def _features(config, num_choices):
    random = np.random.default_rng(3)
    shape = (4, num_choices, 17) if num_choices else (4, 17)
    lengths = random.integers(5, 18, shape[:-1])[..., None]
    mask = (np.arange(17) < lengths).astype("int32")
    ids = random.integers(1, config.vocab_size, shape, dtype="int32") * mask
    segments = (np.arange(17) >= 4).astype("int32") * mask
    return {"input_ids": ids, "input_mask": mask, "segment_ids": segments}


if __name__ == "__main__":
    app.run(main)

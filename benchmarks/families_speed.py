r"""Times ModernBERT-base and nomic-embed-text beside transformers.

    python benchmarks/families_speed.py --peer=PYTHON --family=modernbert \
        --batch=8 --length=128 [--training] [--precision=bfloat16] [--compile]

PYTHON needs transformers 5 and torch. The weights are random. The contestants
are processes that take turns, one step at a time, so a busy machine slows all
of them. A pause before each step lets the threads of the previous step, which
still wait for more work, go to sleep.

The table shows the fastest and the median step, and the ratio of each median to
our median. Our step is a call of a SavedModel's signature, or of
`train_on_batch`. With --openvino, our OpenVINO export takes part too.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# The released sizes, as in config.json.
CONFIGS = {
    "bert": {"model_type": "bert", "vocab_size": 30522, "hidden_size": 768},
    "modernbert": {
        "model_type": "modernbert",
        "vocab_size": 50368,
        "hidden_size": 768,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "intermediate_size": 1152,
    },
    "nomic_bert": {
        "model_type": "nomic_bert",
        "vocab_size": 30528,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
}


def ours(options):
    """Returns a function that runs one step with keras_bert."""
    os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "true"
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"
    import keras
    import numpy as np
    import tensorflow as tf

    import keras_bert

    if options.precision == "bfloat16" and "OpenVINO" not in options.contestant:
        keras.config.set_dtype_policy(
            "mixed_bfloat16" if options.training else "bfloat16"
        )
    config = keras_bert.BertConfig.from_dict(CONFIGS[options.family])
    ids = np.random.default_rng(1).integers(
        5, 30_000, [options.batch, options.length]
    )
    features = {
        "input_ids": ids.astype("int32"),
        "input_mask": np.ones_like(ids, "int32"),
        "segment_ids": np.zeros_like(ids, "int32"),
    }
    if options.training:
        model = keras_bert.models.build_classifier(config, num_labels=2)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        optimizer = keras_bert.training.AdamWeightDecay(1e-5)
        model.compile(optimizer, {"logits": loss})
        labels = {"logits": np.zeros(options.batch, "int32")}
        return lambda: model.train_on_batch(features, labels)
    encoder = keras_bert.models.build_encoder(config)
    if options.contestant.endswith("OpenVINO"):
        return in_openvino(encoder, options)
    specs = {
        name: tf.TensorSpec([None, None], tf.int32, name) for name in features
    }
    serve = tf.function(
        lambda **x: {"hidden": encoder(x)["sequence_output"]}
    ).get_concrete_function(**specs)
    module = tf.Module()
    module.encoder = [weight.value for weight in encoder.weights]
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, {"serving_default": serve})
        loaded = tf.saved_model.load(folder)
    call = loaded.signatures["serving_default"]
    call.model = loaded  # keeps the model alive
    tensors = {name: tf.constant(x) for name, x in features.items()}
    return lambda: call(**tensors)["hidden"].numpy()


def in_openvino(encoder, options):
    """Returns a function that runs our OpenVINO export, as in `make bench`."""
    from keras_bert.export.network import write_openvino

    sys.path.insert(0, str(pathlib.Path(__file__).parent / "contestants"))
    from inference.openvino import prepare

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "network.xml"
        write_openvino(encoder, options.precision, file)
        prepared = prepare(
            {
                "file": str(file),
                "precision": options.precision,
                "num_threads": options.threads,
                "vocab_size": 30_000,
            }
        )
    case = {"batch_size": options.batch, "seq_length": options.length}
    return lambda: prepared.run(case)


def theirs(options, compiled):
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    values = dict(CONFIGS[options.family])
    config = transformers.AutoConfig.for_model(
        values.pop("model_type"), **values, num_labels=2
    )
    auto = transformers.AutoModelForSequenceClassification
    auto = auto if options.training else transformers.AutoModel
    model = auto.from_config(config)
    shape = (options.batch, options.length)
    features = {
        "input_ids": torch.randint(5, 30_000, shape),
        "attention_mask": torch.ones(shape, dtype=torch.long),
    }
    call = torch.compile(model) if compiled else model
    if not options.training:
        model.to(getattr(torch, options.precision)).eval()

        @torch.inference_mode()
        def infer():
            call(**features)

        return infer
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5)
    labels = torch.zeros(options.batch, dtype=torch.long)

    def train():
        optimizer.zero_grad()
        with torch.autocast(
            "cpu", torch.bfloat16, enabled=options.precision == "bfloat16"
        ):
            loss = call(**features, labels=labels).loss
        loss.backward()
        optimizer.step()

    return train


def contestant(options):
    """Runs a step for each line of the input, and prints its seconds."""
    if options.contestant.startswith("keras_bert"):
        step = ours(options)
    else:
        step = theirs(options, options.contestant == "torch.compile")
    for _ in range(3):
        step()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        step()
        print(time.perf_counter() - begin, flush=True)


def compare(options):
    pythons = {"keras_bert": sys.executable, "transformers": options.peer}
    if options.openvino:
        pythons["keras_bert OpenVINO"] = sys.executable
    if options.compile:
        pythons["torch.compile"] = options.peer
    processes = {}
    for name, python in pythons.items():
        processes[name] = subprocess.Popen(
            [python, __file__, f"--contestant={name}", *sys.argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        while (line := processes[name].stdout.readline().strip()) != "ready":
            if not line:
                raise SystemExit(f"{name} ended; see above.")
    seconds = {name: [] for name in processes}
    for _ in range(options.rounds):
        for name, process in processes.items():
            time.sleep(0.4)
            process.stdin.write("step\n")
            process.stdin.flush()
            seconds[name].append(float(process.stdout.readline()))
    for process in processes.values():
        process.stdin.close()
        process.wait()
    own = statistics.median(seconds["keras_bert"])
    print(json.dumps({**vars(options), "peer": None}))
    print(
        "| contestant | fastest | median | median / ours |\n|---|---|---|---|"
    )
    for name, values in seconds.items():
        median = statistics.median(values)
        print(
            f"| {name} | {1000 * min(values):.0f} ms | {1000 * median:.0f} ms "
            f"| {median / own:.2f} |"
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer")
    parser.add_argument("--contestant")
    parser.add_argument("--family", choices=CONFIGS, default="modernbert")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--openvino", action="store_true")
    options = parser.parse_args()
    (contestant if options.contestant else compare)(options)


if __name__ == "__main__":
    main()

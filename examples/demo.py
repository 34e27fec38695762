"""Shows in three minutes what you can do with the model in the package.

The text is the documentation that comes with Python. The demo searches the text
by meaning. It fine-tunes a classifier that says which chapter a paragraph comes
from. It also trains the same network from random weights, and compares the two
classifiers. Then it exports the fine-tuned classifier, and classifies raw
strings in a new process.

    python examples/demo.py --output_dir=demo_output

Args:
    output_dir: The folder to write to.
"""

import collections
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

import keras_bert
from keras_bert.commands import main

CHECKPOINT = "mini_en"
NUM_CHAPTERS = 6
MIN_CHARACTERS = 60  # of a paragraph
QUESTIONS = (
    "Give a function default values for its parameters",
    "Stop the program at a line to look at its variables",
    "Import a module under another name",
)
FINETUNING = keras_bert.FinetuningConfig(
    learning_rate=2e-4,
    train_batch_size=16,
    num_train_epochs=8,
)


def run(output_dir: str = "demo_output"):
    import keras  # not before `main` has imported TensorFlow quietly

    begin = time.monotonic()
    out = Path(output_dir)
    chapters = read_chapters()

    step("Searching the documentation of Python by meaning")
    embedder = keras_bert.load_embedder(CHECKPOINT)
    paragraphs = sorted({x for texts in chapters.values() for x in texts})
    vectors = embedder.embed(paragraphs)
    queries = embedder.embed(QUESTIONS)
    found = keras_bert.vectors.search(queries, vectors, top_k=1)
    for question, (place,) in zip(QUESTIONS, found.indices, strict=True):
        print(f"\n{question}\n  {paragraphs[place]:.200}")

    step("Fine-tuning: which chapter does a paragraph come from?")
    train, held_out = split_largest(chapters)
    keras.utils.set_random_seed(1)
    mini_en = keras_bert.TextClassifier.from_pretrained(CHECKPOINT)
    accuracies = []
    with tempfile.TemporaryDirectory() as folder:
        random_weights = Path(folder, "random")
        keras_bert.save_pretrained(
            keras_bert.models.build_encoder(mini_en.bert_config),
            embedder.preprocessor.tokenizer,
            random_weights,
        )
        for checkpoint in (random_weights, CHECKPOINT):
            # Both classifiers read the mean of the tokens. By default, the
            # classifier with random weights would read the pooler's output.
            classifier = keras_bert.TextClassifier.from_pretrained(
                checkpoint, pooling="mean"
            )
            classifier.fit(*train, config=FINETUNING)
            accuracies.append(classifier.evaluate(*held_out)["accuracy"])

    step("Exporting the model and classifying raw strings in a new process")
    classifier.export(out / "served")
    samples = range(0, len(held_out[0]), len(held_out[0]) // 3)
    print("From", ", ".join(held_out[1][i] for i in samples), flush=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "keras_bert", "predict"),
            f"--model_dir={out / 'served'}",
            *(held_out[0][i] for i in samples),
        ],
        check=True,
    )

    step(f"Done in {time.monotonic() - begin:.0f} s")
    ((_, largest),) = collections.Counter(held_out[1]).most_common(1)
    print(
        f"Trained on {len(train[0])} paragraphs; accuracy on {len(held_out[0])}"
    )
    print(f"  always the largest chapter  {largest / len(held_out[1]):.3f}")
    print(f"  from random weights         {accuracies[0]:.3f}")
    print(f"  from {CHECKPOINT}                {accuracies[1]:.3f}")
    print(out / "served")


def step(title):
    print(f"\n== {title}", flush=True)


def read_chapters():
    """Returns the paragraphs of each chapter."""
    chapters = {
        topic: [" ".join(x.split()) for x in text.split("\n\n")]
        for topic, text in sorted(topics.items())
    }
    return {
        topic: [x for x in texts if len(x) >= MIN_CHARACTERS]
        for topic, texts in chapters.items()
    }


def split_largest(chapters):
    """Returns a training set and a held-out set: each is paragraphs and labels.

    The labels are the chapters of the paragraphs. The paragraphs come from the
    largest chapters. A paragraph that occurs in several chapters is left out.
    Only every fifth paragraph is for training, because labels are expensive.
    """
    counts = collections.Counter(
        x for texts in chapters.values() for x in set(texts)
    )
    unique = {
        topic: [x for x in texts if counts[x] == 1]
        for topic, texts in chapters.items()
    }
    largest = sorted(unique, key=lambda topic: -len(unique[topic]))
    splits = ([], []), ([], [])
    for topic in sorted(largest[:NUM_CHAPTERS]):
        for i, paragraph in enumerate(unique[topic]):
            paragraphs, labels = splits[i % 5 != 0]
            paragraphs.append(paragraph)
            labels.append(topic)
    return splits


if __name__ == "__main__":
    main.run("demo", sys.modules[__name__], sys.argv[1:])

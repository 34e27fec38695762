"""Shows every step from text to predictions in a few minutes.

The text is the documentation that comes with Python. The demo learns a
vocabulary, pre-trains a tiny BERT, fine-tunes it to tell which chapter a
paragraph comes from, exports a SavedModel, and classifies raw strings with it
in a new process.

    python run_scripts/demo.py --output_dir=demo_output

Args:
    output_dir: The folder of the output.
"""

import collections
import dataclasses
import re
import subprocess
import sys
import time
from pathlib import Path
from pydoc_data.topics import topics

import keras_bert
from keras_bert.commands import main

NUM_CHAPTERS = 6
MIN_CHARACTERS = 60  # of a paragraph whose chapter is asked for
MASKED_SENTENCES = (
    "Added in [MASK] 3.8.",
    "Raises an [MASK] if it is not found.",
    "The value of the [MASK] is the value of the expression.",
)
PRETRAINING = keras_bert.PretrainingConfig(
    learning_rate=2e-3,
    train_batch_size=64,
    num_train_steps=1000,
    num_warmup_steps=300,
    save_checkpoints_steps=100,
    max_seq_length=64,
    max_predictions_per_seq=10,
)
FINETUNING = keras_bert.FinetuningConfig(
    learning_rate=5e-4,
    train_batch_size=16,
    num_train_epochs=8,
)


def run(output_dir: str = "demo_output"):
    begin = time.monotonic()
    out = Path(output_dir)
    lines, paragraphs, labels = read_chapters()

    step("Learning a vocabulary")
    vocab_file = out / "vocab.txt"
    vocab = keras_bert.text.learn_vocab(
        lines["train"], vocab_file, vocab_size=3000
    )
    tokenizer = keras_bert.BertTokenizer(vocab_file)

    step("Writing pre-training data")
    data_config = keras_bert.PretrainingDataConfig(
        max_seq_length=PRETRAINING.max_seq_length,
        max_predictions_per_seq=PRETRAINING.max_predictions_per_seq,
    )
    for split in ("train", "held_out"):
        counts = keras_bert.create_pretraining_data(
            lines[split], [out / f"{split}.tfrecord"], tokenizer, data_config
        )
        print(split, counts)

    step("Pre-training bert_tiny; every fifth labeled paragraph is held out")
    bert_config = dataclasses.replace(
        keras_bert.BertConfig.from_name("bert_tiny"), vocab_size=len(vocab)
    )
    model = keras_bert.models.build_pretraining_model(bert_config)
    before = [guesses(model, tokenizer, text) for text in MASKED_SENTENCES]
    pretrained = keras_bert.pretrain(
        bert_config,
        [str(out / "train.tfrecord")],
        out / "pretrained",
        eval_files=[str(out / "held_out.tfrecord")],
        vocab_file=vocab_file,
        config=PRETRAINING,
    )
    keras_bert.load_checkpoint(model, out / "pretrained")
    for text, guess in zip(MASKED_SENTENCES, before, strict=True):
        print(f"\n{text}\n  before: {guess}")
        print(f"  after:  {guesses(model, tokenizer, text)}")

    step("Fine-tuning: which chapter does a paragraph come from?")
    classifier = keras_bert.TextClassifier.from_pretrained(out / "pretrained")
    held_out = paragraphs["held_out"], labels["held_out"]
    classifier.fit(
        paragraphs["train"],
        labels["train"],
        validation_data=held_out,
        config=FINETUNING,
        output_dir=out / "finetuned",
    )
    accuracy = classifier.evaluate(*held_out)["accuracy"]

    step("Exporting the model and classifying raw strings in a new process")
    classifier.export(out / "served")
    samples = range(0, len(held_out[0]), len(held_out[0]) // 3)
    chapters = ", ".join(held_out[1][i] for i in samples)
    print("The paragraphs come from", chapters, flush=True)
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
    print("Held-out masked-LM loss", f"{pretrained['val_masked_lm_loss']:.3f}")
    print("Held-out chapter accuracy", f"{accuracy:.3f}")
    print("  if always the largest", f"{largest / len(held_out[1]):.3f}")
    print(out / "served")


def step(title):
    print(f"\n== {title}", flush=True)


def guesses(model, tokenizer, text):
    (best,) = keras_bert.export.fill_mask(model, tokenizer, text, top_k=3)
    return ", ".join(f"{piece} {p:.2f}" for piece, p in best)


def read_chapters():
    """Returns lines for pre-training, and paragraphs and their chapters.

    All are dicts with the keys `train` and `held_out`. A line is a sentence;
    an empty line ends a chapter. The paragraphs come from the six chapters
    with the most paragraphs that no other chapter repeats. Every fifth of
    these is held out.
    """
    chapters = {
        topic: [" ".join(x.split()) for x in text.split("\n\n")]
        for topic, text in sorted(topics.items())
    }
    counts = collections.Counter(
        x for texts in chapters.values() for x in set(texts)
    )
    unique = {
        topic: [x for x in texts if counts[x] == 1 and len(x) >= MIN_CHARACTERS]
        for topic, texts in chapters.items()
    }
    largest = sorted(unique, key=lambda topic: -len(unique[topic]))
    lines, paragraphs, labels = (
        {"train": [], "held_out": []} for _ in range(3)
    )
    for topic in sorted(largest[:NUM_CHAPTERS]):
        for i, paragraph in enumerate(unique[topic]):
            split = "train" if i % 5 else "held_out"
            paragraphs[split].append(paragraph)
            labels[split].append(topic)
    for texts in chapters.values():
        for text in texts:
            is_held_out = text in paragraphs["held_out"]
            split = lines["held_out" if is_held_out else "train"]
            split += re.split(r"(?<=[.:;?!]) (?=[A-Z\"“])", text)
        for split in lines.values():
            split.append("")
    return lines, paragraphs, labels


if __name__ == "__main__":
    main.run("demo", sys.modules[__name__], sys.argv[1:])

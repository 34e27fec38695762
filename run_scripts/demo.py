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
import subprocess
import sys
import time
from pathlib import Path

import demo_text

import keras_bert
from keras_bert.commands import main

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
    lines, rows = demo_text.read_chapters()

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
    finetuned = keras_bert.finetune(
        demo_text.chapter_task(rows),
        out,
        out / "finetuned",
        checkpoint=out / "pretrained",
        config=FINETUNING,
    )

    step("Exporting the model and classifying raw strings in a new process")
    keras_bert.load_finetuned(out / "finetuned").export(out / "served")
    held_out = rows["held_out"]
    samples = held_out[:: len(held_out) // 3]
    print("The paragraphs come from", ", ".join(r["label"] for r in samples))
    subprocess.run(
        [
            *(sys.executable, "-m", "keras_bert", "predict"),
            f"--model_dir={out / 'served'}",
            *(row["paragraph"] for row in samples),
        ],
        check=True,
    )

    step(f"Done in {time.monotonic() - begin:.0f} s")
    counts = collections.Counter(row["label"] for row in held_out)
    baseline = max(counts.values()) / len(held_out)
    for name, value in (
        ("word pieces", len(vocab)),
        ("held-out masked-LM loss", f"{pretrained['val_masked_lm_loss']:.3f}"),
        ("held-out chapter accuracy", f"{finetuned['accuracy']:.3f}"),
        ("  if always the largest", f"{baseline:.3f}"),
    ):
        print(f"{name:32}{value:>8}")
    print(out / "finetuned/confusion_matrix.png")
    print(out / "served")


def step(title):
    print(f"\n== {title}", flush=True)


def guesses(model, tokenizer, text):
    (best,) = keras_bert.export.fill_mask(model, tokenizer, text, top_k=3)
    return ", ".join(f"{piece} {p:.2f}" for piece, p in best)


if __name__ == "__main__":
    main.run("demo", sys.modules[__name__], sys.argv[1:])

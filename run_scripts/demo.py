"""The whole path on text that every Python carries, in a few minutes.

From the documentation behind `help()`: a vocabulary, a pre-trained tiny BERT,
a model that tells from which chapter a paragraph comes, a SavedModel of it,
and answers for raw strings in a fresh process.

    python run_scripts/demo.py --output_dir=demo_output
"""

import collections
import dataclasses
import subprocess
import sys
import time
from pathlib import Path

import config_flags
import demo_text
from absl import flags

import keras_bert

OUTPUT_DIR = flags.DEFINE_string("output_dir", "demo_output", "All it makes.")
GAPS = (
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
    save_checkpoints_steps=50,
)


def main():
    begin = time.monotonic()
    out = Path(OUTPUT_DIR.value)
    text, held_out_text, train, held_out = demo_text.read_chapters()

    step("Learning a vocabulary")
    vocab_file = out / "vocab.txt"
    vocab = keras_bert.learn_vocab(text, vocab_file, vocab_size=3000)
    tokenizer = keras_bert.BertTokenizer(vocab_file)

    step("Making pre-training data")
    data_config = keras_bert.PretrainingDataConfig(
        max_seq_length=PRETRAINING.max_seq_length,
        max_predictions_per_seq=PRETRAINING.max_predictions_per_seq,
    )
    for name, some in (("train", text), ("held_out", held_out_text)):
        counts = keras_bert.create_pretraining_data(
            some, [out / f"{name}.tfrecord"], tokenizer, data_config
        )
        print(name, counts)

    step("Pre-training bert_tiny; held out is each fifth paragraph")
    bert_config = dataclasses.replace(
        keras_bert.BertConfig.from_name("bert_tiny"), vocab_size=len(vocab)
    )
    model = keras_bert.build_pretraining_model(bert_config)
    before = [guesses(model, tokenizer, gap) for gap in GAPS]
    pretrained = keras_bert.pretrain(
        bert_config,
        [str(out / "train.tfrecord")],
        out / "pretrained",
        eval_files=[str(out / "held_out.tfrecord")],
        vocab_file=vocab_file,
        config=PRETRAINING,
    )
    keras_bert.load_checkpoint(model, out / "pretrained")
    for gap, guess in zip(GAPS, before, strict=True):
        print(f"\n{gap}\n  before: {guess}")
        print(f"  after:  {guesses(model, tokenizer, gap)}")

    step("Fine-tuning: from which chapter is a paragraph?")
    finetuned = keras_bert.finetune(
        demo_text.chapter_task(train, held_out),
        out,
        out / "finetuned",
        init_checkpoint=out / "pretrained",
        config=FINETUNING,
    )
    most = collections.Counter(row["label"] for row in held_out).most_common(1)

    step("Exporting, and classifying raw strings in a fresh process")
    loaded = keras_bert.load_finetuned(out / "finetuned")
    keras_bert.export_saved_model(
        loaded.model,
        loaded.head,
        out / "served",
        labels=loaded.head.spec.labels,
    )
    predict = Path(__file__).with_name("predict.py")
    shown = held_out[:: len(held_out) // 3]
    print("They come from", ", ".join(row["label"] for row in shown))
    subprocess.run(
        [
            sys.executable,
            predict,
            f"--model_dir={out / 'served'}",
            *(row["paragraph"] for row in shown),
        ],
        check=True,
    )

    step(f"Done in {time.monotonic() - begin:.0f} s")
    for name, value in (
        ("word pieces", len(vocab)),
        ("masked-LM loss, held out", f"{pretrained['val_masked_lm_loss']:.3f}"),
        ("chapter accuracy, held out", f"{finetuned['accuracy']:.3f}"),
        ("  always the largest chapter", f"{most[0][1] / len(held_out):.3f}"),
    ):
        print(f"{name:32}{value:>8}")
    for name in ("pretrained/curves.png", "finetuned/confusion_matrix.png"):
        print(out / name)
    print(out / "served")


def step(title):
    print(f"\n== {title}", flush=True)


def guesses(model, tokenizer, gap):
    (best,) = keras_bert.fill_mask(model, tokenizer, gap, top=3)
    return ", ".join(f"{piece} {p:.2f}" for piece, p in best)


if __name__ == "__main__":
    config_flags.run(main)

"""Pre-trains a tiny BERT on the documentation of Python, in a few minutes.

The demo learns a vocabulary, writes records, and pre-trains a model. It shows
how the model fills masks before and after pre-training.

    python examples/demo_pretraining.py --output_dir=demo_output

Args:
    output_dir: The folder to write to.
"""

import dataclasses
import re
import sys
from pathlib import Path

from demo import read_chapters, step

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


def run(output_dir: str = "demo_output"):
    out = Path(output_dir)
    # A line is a sentence; a blank line ends a chapter.
    lines = {"train": [], "held_out": []}
    for number, paragraphs in enumerate(read_chapters().values()):
        split = lines["train" if number % 10 else "held_out"]
        for paragraph in paragraphs:
            split += re.split(r"(?<=[.:;?!]) (?=[A-Z\"“])", paragraph)
        split.append("")

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
    for split in lines:
        counts = keras_bert.create_pretraining_data(
            lines[split], [out / f"{split}.tfrecord"], tokenizer, data_config
        )
        print(split, counts)

    step("Pre-training bert_tiny; every tenth chapter is held out")
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
    print("Held-out masked-LM loss", f"{pretrained['val_masked_lm_loss']:.3f}")


def guesses(model, tokenizer, text):
    (best,) = keras_bert.export.fill_mask(model, tokenizer, text, top_k=3)
    return ", ".join(f"{piece} {p:.2f}" for piece, p in best)


if __name__ == "__main__":
    main.run("demo_pretraining", sys.modules[__name__], sys.argv[1:])

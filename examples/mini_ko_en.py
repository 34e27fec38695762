r"""Makes mini_ko_en from multilingual-e5-small, step by step.

    python examples/mini_ko_en.py multilingual-e5-small texts.txt names.txt \
        pairs.jsonl all_texts.txt work_dir

The first argument is the folder that `benchmarks/multilingual_e5.py` writes, or
hf://intfloat/multilingual-e5-small. `examples/mini_ko_en_texts.py` writes
texts.txt and all_texts.txt, `examples/mini_ko_en_names.py` writes names.txt,
and `examples/mini_ko_en_pairs.py` writes pairs.jsonl. If the command is
stopped, run it again: it continues. The command takes two and a half hours on
two cores; the teacher's vectors take half of this time.
"""

import dataclasses
import json
import sys
from pathlib import Path

import keras_bert
from keras_bert.checkpoints import TrimVocabConfig

LAYERS = [0, 5, 11]
NUM_PIECES = 36_000
# The teacher needs a prompt before each text. The student needs no prompt.
PROMPT = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
NO_PROMPT = {"prompts": "", "default_prompt_name": ""}
# The weight of the model that learned from pairs, in the mean of two models. It
# is large, because the rounding of the mean undoes many small changes.
SHARE = 0.8
CONFIG = keras_bert.FinetuningConfig(
    train_batch_size=128,
    eval_batch_size=128,
    warmup_proportion=0.05,
    num_train_epochs=1,
    dropout_rate=0.0,
    save_checkpoints_steps=500,
)


def learn(
    large: Path, start: Path, texts: Path, output: Path, rate: float
) -> None:
    """Distills the teacher's vectors of texts; writes the rounded result."""
    distilled = output.with_name(f"{output.name}-float32")
    figures = keras_bert.vectors.distill(
        keras_bert.load_embedder(large, max_seq_length=256, **PROMPT),
        start,
        str(texts),
        distilled,
        config=dataclasses.replace(CONFIG, learning_rate=rate),
        settings=NO_PROMPT,
        cache_dir=output.with_name(f"{output.name}-cache"),
    )
    print(figures)
    if not output.exists():
        keras_bert.convert_checkpoint(distilled, output, to="int4")


def learn_pairs(start: Path, pairs: Path, output: Path) -> None:
    """Trains a model to find each name's text among the texts of a batch."""
    model = keras_bert.TextEmbedder.from_pretrained(
        start, loss="multiple_negatives", scale=50.0, max_seq_length=128
    )
    with open(pairs, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    config = dataclasses.replace(
        CONFIG, learning_rate=5e-5, warmup_proportion=0.1
    )
    model.fit([(x["text"], x["other_text"]) for x in rows], config=config)
    model.save(output)


def average(first: Path, second: Path, output: Path) -> None:
    """Writes a model whose weights are the rounded mean of two models' weights.

    The second model was trained further from the first model. With the mean,
    the result keeps what the first model knows (Wortsman et al. 2022, arXiv
    2109.01903, section 3).
    """
    model, other = map(keras_bert.load_finetuned, (first, second))
    for mean, weight in zip(
        model.model.weights, other.model.weights, strict=True
    ):
        mean.assign((1 - SHARE) * mean + SHARE * weight)
    averaged = output.with_name(f"{output.name}-float32")
    model.save(averaged)
    keras_bert.convert_checkpoint(averaged, output, to="int4")


def main() -> None:
    large, texts, names, pairs, all_texts, work_dir = map(Path, sys.argv[1:])
    shallow, student, first, second, third, mini = (
        work_dir / name
        for name in ("shallow", "student", "first", "second", "third", "mini")
    )
    if not shallow.exists():
        keras_bert.checkpoints.keep_layers(large, shallow, LAYERS)
    if not student.exists():
        with open(all_texts, encoding="utf-8") as lines:
            keras_bert.checkpoints.trim_vocab(
                shallow,
                student,
                lines,
                config=TrimVocabConfig(
                    vocab_size=NUM_PIECES, keep_unseen_characters=False
                ),
            )
    learn(large, student, texts, first, rate=4e-4)
    learn(large, first, names, second, rate=3e-4)
    if not third.exists():
        learn_pairs(second, pairs, third)
    average(second, third, mini)


if __name__ == "__main__":
    main()

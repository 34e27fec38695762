r"""Makes mini_ko_en from multilingual-e5-small, step by step.

    python examples/mini_ko_en.py multilingual-e5-small texts.txt \
        all_texts.txt work_dir

The first folder is what `benchmarks/multilingual_e5.py` writes, or
hf://intfloat/multilingual-e5-small. `examples/mini_ko_en_texts.py` writes the
two files of texts. Repeat the command to resume a stopped run. Two cores need
about two hours, 40 minutes of them for the vectors of the teacher.
"""

import sys
from pathlib import Path

import keras_bert
from keras_bert.checkpoints import TrimVocabConfig

LAYERS = [0, 5, 11]
NUM_PIECES = 36_000
# The teacher learned each text after a prompt. The student needs none.
PROMPT = {"prompts": {"query": "query: "}, "default_prompt_name": "query"}
NO_PROMPT = {"prompts": "", "default_prompt_name": ""}
CONFIG = keras_bert.FinetuningConfig(
    train_batch_size=128,
    eval_batch_size=128,
    learning_rate=4e-4,
    warmup_proportion=0.05,
    num_train_epochs=1,
    dropout_rate=0.0,
    save_checkpoints_steps=500,
)


def main() -> None:
    large, texts, all_texts, work_dir = map(Path, sys.argv[1:])
    shallow, student, distilled, mini = (
        work_dir / name for name in ("shallow", "student", "distilled", "mini")
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
    figures = keras_bert.vectors.distill(
        keras_bert.load_embedder(large, max_seq_length=256, **PROMPT),
        student,
        str(texts),
        distilled,
        config=CONFIG,
        settings=NO_PROMPT,
        cache_dir=work_dir / "cache",
    )
    print(figures)
    if not mini.exists():
        keras_bert.convert_checkpoint(distilled, mini, to="int4")


if __name__ == "__main__":
    main()

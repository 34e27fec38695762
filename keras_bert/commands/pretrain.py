r"""Pre-trains BERT on records. Repeat the command to resume a stopped run.

    keras-bert pretrain --input_file='train*.tfrecord' \
        --eval_file=heldout.tfrecord --vocab_file=vocab.txt \
        --bert_config_file=bert_tiny --output_dir=out

Args:
    input_file: The TFRecord files to train on: globs, separated by commas.
    output_dir: The folder for checkpoints and metrics.
    eval_file: The held-out TFRecord files: globs, separated by commas.
    bert_config_file: The network: a bert_config.json, or a name such as
        bert_tiny; by default, the file beside the checkpoint.
    vocab_file: The vocab.txt, which is copied beside the weights in output_dir;
        by default, the file beside the checkpoint.
    checkpoint: The initial weights; by default, random weights.
    overwrite_output_dir: Whether to start over if output_dir already contains a
        run. With this flag, a command that is repeated after an interruption
        starts over too.
"""

import keras_bert
from keras_bert.commands import old_flags
from keras_bert.commands.flags import Flags, read_bert_config

translate = old_flags.translate_pretraining
NEEDS = dict.fromkeys(
    ("generator_size", "replaced_tokens_weight"), "replaced_tokens"
)


def define(flags: Flags) -> None:
    flags.add_fields(old_flags.PretrainingFlags)


def run(
    input_file: str,
    output_dir: str,
    config: keras_bert.PretrainingConfig,
    eval_file: str | None = None,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    checkpoint: str | None = None,
    overwrite_output_dir: bool = False,
) -> dict[str, float]:
    return keras_bert.pretrain(
        read_bert_config(bert_config_file, vocab_file),
        input_file,
        output_dir,
        eval_files=eval_file,
        checkpoint=checkpoint,
        vocab_file=vocab_file,
        config=config,
        overwrite_output_dir=overwrite_output_dir,
    )

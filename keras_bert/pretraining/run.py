"""Records -> a pre-trained model: masked LM and next sentence together."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
from pathlib import Path

import tensorflow as tf

from keras_bert.checkpoints.find import check_output_dir, checkpoint_folder
from keras_bert.checkpoints.load import load_checkpoint
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.files import atomic_path
from keras_bert.models.flops import count_work
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.pretraining.read.damage import damage_named
from keras_bert.pretraining.read.files_to_records import (
    read_pretraining_records,
)
from keras_bert.pretraining.read.pairs_to_rows import pack_sequences
from keras_bert.pretraining.read.records_to_pairs import InstanceDrawer
from keras_bert.settings import setting
from keras_bert.text.masking import MaskingConfig
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.config import TrainConfig
from keras_bert.training.distribution import get_strategy, is_chief
from keras_bert.training.losses import accuracy, cross_entropy
from keras_bert.training.objectives import Objective
from keras_bert.training.trainer import train

_UNKNOWN_ID = "unknown token id"


@dataclasses.dataclass(frozen=True)
class PretrainingConfig(TrainConfig, MaskingConfig):
    """A pre-training run; names as in google-research/bert.

    The numbers of the masking are for records without masks only.

    Attributes:
        num_train_steps: Steps of the whole run.
        num_warmup_steps: Steps until the learning rate is at its peak.
        max_seq_length: Length of the records' sequences.
        max_predictions_per_seq: Masked positions of a record.
        next_sentence: Whether to train the next-sentence head (paper, 5.1).
        pack_sequences: Whether to put several short sequences of a batch into
            one row, where they do not see each other: less padding, equal
            losses. With jit_compile=on, each new shape takes time.
        init_moments: Whether to take over the optimizer's moments from
            init_checkpoint too, in a second phase of longer sequences.
        skip_corrupt_records: Whether to leave out damaged records, with a
            warning that counts them, instead of stopping.
    """

    num_train_steps: int = 100_000
    num_warmup_steps: int = setting(10_000, minimum=0)
    max_seq_length: int = 128
    max_predictions_per_seq: int = 20
    next_sentence: bool = True
    pack_sequences: bool = False
    init_moments: bool = False
    skip_corrupt_records: bool = False


def pretrain(
    bert_config: BertConfig,
    input_files: list[str],
    output_dir: str | Path,
    *,
    eval_files: list[str] | None = None,
    init_checkpoint: str | Path | None = None,
    vocab_file: str | Path | None = None,
    config: PretrainingConfig | None = None,
) -> dict[str, float]:
    """Pre-trains a model, or goes on where an earlier call was interrupted.

    Args:
        bert_config: The network.
        input_files: TFRecords of `create_pretraining_data`; of those without
            masks, other masks are drawn in each epoch.
        output_dir: Gets `checkpoints/`, `history.csv`, `curves.png`,
            `tensorboard/` and, at the end, `eval_results.json`.
        eval_files: Held-out records, evaluated after each interval.
        init_checkpoint: Weights to begin with, instead of random ones.
        vocab_file: Is put beside the weights, so that later steps find it;
            needed for records without masks.
        config: Rates, sizes and steps.

    Returns:
        The figures of the last interval: `loss`, `masked_lm_loss`,
        `masked_lm_accuracy`, `masked_lm_perplexity`, `next_sentence_loss` and
        `next_sentence_accuracy`, with `val_` before them those of the
        held-out records, and the time and speed of the training.
    """
    config = config or PretrainingConfig()
    if config.init_moments and not init_checkpoint:
        raise InputError(
            "init_moments takes over the optimizer of an init_checkpoint; "
            "give one."
        )
    check_output_dir(output_dir)
    bert_config.check_max_seq_length(config.max_seq_length)
    if config.pack_sequences and config.distribution_strategy == "tpu":
        raise InputError(
            "pack_sequences makes batches of changing shapes, which a TPU "
            "does not take; turn it off."
        )
    # Before anything else in TensorFlow: workers find each other now or never.
    strategy = get_strategy(config.distribution_strategy, config.tpu)
    sidecars = {"bert_config.json": bert_config.to_json()}
    drawer = None
    if vocab_file:
        tokenizer = BertTokenizer(vocab_file)
        bert_config.check_vocab_size(tokenizer.vocab_size, vocab_file)
        sidecars["vocab.txt"] = "\n".join(tokenizer.vocab) + "\n"
        drawer = InstanceDrawer(
            tokenizer,
            config.build_masker(tokenizer, config.max_predictions_per_seq),
            seq_length=config.max_seq_length,
            random_seed=config.random_seed,
        )

    def build_model():
        model = build_pretraining_model(
            bert_config,
            next_sentence=config.next_sentence,
            packed=config.pack_sequences,
        )
        if init_checkpoint:
            load_checkpoint(model, init_checkpoint)
        return model

    batches = functools.partial(
        _batches,
        config=config,
        vocab_size=bert_config.vocab_size,
        drawer=drawer,
    )
    files = [*input_files, *(eval_files or ())]
    with damage_named(files), _unknown_id_named(bert_config.vocab_size):
        evaluation = None
        if eval_files:
            evaluation = batches(eval_files)
        _, figures = train(
            build_model,
            lambda step: batches(input_files, config.random_seed, step),
            evaluation,
            objectives={
                output: Objective(
                    cross_entropy,
                    {"accuracy": accuracy},
                    {"perplexity": tf.exp} if output == "masked_lm" else {},
                )
                for output in _outputs(config)
            },
            count_work=functools.partial(
                count_work,
                config=bert_config,
                num_labels=2 if config.next_sentence else 0,
            ),
            num_train_steps=config.num_train_steps,
            num_warmup_steps=config.num_warmup_steps,
            strategy=strategy,
            config=config,
            output_dir=output_dir,
            sidecars=sidecars,
            init_moments=checkpoint_folder(init_checkpoint)
            if config.init_moments
            else None,
        )
    if is_chief(strategy):
        with atomic_path(Path(output_dir) / "eval_results.json") as path:
            path.write_text(json.dumps(figures, indent=2) + "\n")
    return figures


@contextlib.contextmanager
def _unknown_id_named(vocab_size):
    """Says in a sentence that the records are of another vocabulary."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        unknown = re.search(rf"\[{_UNKNOWN_ID}\] \[(\d+)\]", error.message)
        if not unknown:
            raise
        raise InputError(
            f"A record holds the token id {unknown[1]}, but the vocab_size of "
            f"the model is {vocab_size}; create the records with the "
            "vocabulary of the model."
        ) from error


def _batches(
    files, shuffle_seed=None, first_batch=0, *, config, vocab_size, drawer
):
    dataset = read_pretraining_records(
        files,
        seq_length=config.max_seq_length,
        max_predictions_per_seq=config.max_predictions_per_seq,
        batch_size=config.eval_batch_size
        if shuffle_seed is None
        else config.train_batch_size,
        shuffle_seed=shuffle_seed,
        first_batch=first_batch,
        drawer=drawer,
        skip_corrupt_records=config.skip_corrupt_records,
    )
    if config.pack_sequences:
        dataset = dataset.map(pack_sequences, tf.data.AUTOTUNE)

    def split(features):
        # Not in the model: with XLA any id is taken, and the loss is NaN.
        ids = features["input_ids"], features["masked_lm_ids"]
        largest = tf.maximum(*map(tf.reduce_max, ids))
        tf.debugging.Assert(largest < vocab_size, [_UNKNOWN_ID, largest])
        next_sentence = features.pop("next_sentence_labels")
        if config.pack_sequences:
            next_sentence_weights = features.pop("next_sentence_weights")
        else:
            next_sentence = next_sentence[:, 0]
            next_sentence_weights = tf.ones_like(next_sentence, tf.float32)
        labels = {
            "masked_lm": features.pop("masked_lm_ids"),
            "next_sentence": next_sentence,
        }
        weights = {
            "masked_lm": features.pop("masked_lm_weights"),
            "next_sentence": next_sentence_weights,
        }
        outputs = _outputs(config)
        return (
            features,
            {name: labels[name] for name in outputs},
            {name: weights[name] for name in outputs},
        )

    return dataset.map(split).prefetch(2)


def _outputs(config):
    heads = ("masked_lm", "next_sentence")
    return heads if config.next_sentence else heads[:1]

"""Records -> a pre-trained model: masked LM and next sentence together."""

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path

import keras
import tensorflow as tf

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.find import check_output_dir
from keras_bert.checkpoints.load import load_to_train
from keras_bert.checkpoints.load_tokenizer import (
    resolve_tokenizer_settings,
    warn_of_other_case,
)
from keras_bert.checkpoints.read import fingerprint_of
from keras_bert.config import BertConfig, check_config
from keras_bert.errors import InputError
from keras_bert.export.model_card import model_card, write_card
from keras_bert.io.paths import to_path
from keras_bert.io.whole_files import write_json
from keras_bert.models.electra import build_electra, generator_config
from keras_bert.models.flops import count_work
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.pretraining.config import PretrainingConfig
from keras_bert.pretraining.read import files_to_records
from keras_bert.pretraining.read.pairs_to_batches import pretraining_batches
from keras_bert.pretraining.read.records_to_pairs import InstanceDrawer
from keras_bert.progress import shown_log
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.masking_config import MaskingConfig
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.text.tokenizer_settings import TokenizerSettings
from keras_bert.training.callbacks import as_list
from keras_bert.training.distribution import BatchShard, get_strategy, is_chief
from keras_bert.training.fingerprint import Fingerprint, digest_of
from keras_bert.training.losses import (
    accuracy,
    cross_entropy,
    replaced_tokens_accuracy,
    replaced_tokens_loss,
)
from keras_bert.training.objectives import Objective
from keras_bert.training.run import train
from keras_bert.training.run_folder import RunFolder
from keras_bert.training.setup import TrainingSetup

# The number of bytes that the fingerprint reads at each end of a file.
_NUM_BYTES = 1 << 16


@shown_log()
def pretrain(
    bert_config: BertConfig | None,
    input_files: str | list[str],
    output_dir: str | Path,
    *,
    eval_files: str | list[str] | None = None,
    checkpoint: str | Path | None = None,
    vocab_file: str | Path | None = None,
    config: PretrainingConfig | None = None,
    overwrite_output_dir: bool = False,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> dict[str, float]:
    """Pre-trains a model, or resumes where an earlier call stopped.

    A call resumes only a run with the same records, settings and initial
    weights, and refuses to continue any other run.

    Args:
        bert_config: The config of the network; None for the config of the
            checkpoint.
        input_files: The TFRecords from `create_pretraining_data`, as a list or
            as comma-separated names and globs. A file that is named twice is
            read twice per epoch. From records without masks, each epoch draws
            new pairs and masks.
        output_dir: A folder for `checkpoints/`, `history.csv`, `tensorboard/`
            and, at the end, `eval_results.json`.
        eval_files: The held-out records. The model is evaluated on them at
            every checkpoint, and before the first step if the run starts from
            a `checkpoint`.
        checkpoint: The weights to start from, instead of random weights.
        vocab_file: The vocabulary, which is copied beside the weights for
            fine-tuning; required for records without masks. By default, the
            vocabulary of the checkpoint.
        config: The rates, sizes and numbers of steps.
        overwrite_output_dir: Whether to start over if output_dir already
            contains a run. Leave this argument out of a command that may be
            interrupted and repeated.
        callbacks: Keras callbacks, such as loggers. To them, an epoch is the
            interval between two checkpoints; see
            `keras_bert.training.callbacks`.

    Returns:
        The last row of the history: `loss`, `masked_lm_loss`,
        `masked_lm_accuracy`, `masked_lm_perplexity`, `next_sentence_loss` and
        `next_sentence_accuracy` (or `replaced_tokens_loss` and
        `replaced_tokens_accuracy`), the same names with the prefix `val_` for
        the held-out records, and the time and speed of the training.

    Example:
        >>> metrics = keras_bert.pretrain(
        ...     keras_bert.BertConfig(
        ...         vocab_size=31,
        ...         hidden_size=12,
        ...         num_hidden_layers=2,
        ...         num_attention_heads=3,
        ...         intermediate_size=20,
        ...     ),
        ...     "train.tfrecord",
        ...     "output",
        ...     vocab_file="vocab.txt",
        ...     config=keras_bert.PretrainingConfig(
        ...         num_train_steps=4,
        ...         num_warmup_steps=1,
        ...         train_batch_size=8,
        ...         max_seq_length=14,
        ...         max_predictions_per_seq=3,
        ...     ),
        ... )
        >>> metrics["step"]
        4
    """
    config = PretrainingConfig.checked(config)
    output_dir = to_path(output_dir)
    check_output_dir(output_dir)
    _check_callbacks(callbacks)
    start = Checkpoint.of(checkpoint) if checkpoint else None
    if start:
        bert_config = bert_config or start.config
        vocab_file = vocab_file or start.vocab_file
    if bert_config is None:
        raise InputError("Give a bert_config or a checkpoint.")
    _check(config, bert_config, start)
    if config.do_lower_case is not None and not vocab_file:
        raise InputError(
            "do_lower_case describes the vocabulary that is saved beside the "
            "weights; give the vocab_file too, or leave do_lower_case out."
        )
    # This comes first: workers must find each other before TensorFlow is used.
    strategy = get_strategy(config)
    files = files_to_records.find_files(input_files)
    held_out_files = files_to_records.find_files(eval_files)
    sidecars = {"bert_config.json": bert_config.to_json()}
    tokenizer = None
    if vocab_file:
        tokenizer = _load_tokenizer(
            files + held_out_files, bert_config, config, start, vocab_file
        )
        sidecars |= tokenizer.sidecars(bert_config.max_position_embeddings)
    records = _open(files, config, tokenizer)
    if records.have_masks:
        _check_masking(config, files)
    held_out = (
        _open(held_out_files, config, tokenizer) if held_out_files else None
    )
    digests = {
        "training records": _digest_of_files(files),
        "held-out records": _digest_of_files(held_out_files),
        "initial weights": fingerprint_of(checkpoint) if checkpoint else "",
        **{name: digest_of(text) for name, text in sidecars.items()},
    }
    size = bert_config.vocab_size
    with records.errors_named(size), (held_out or records).errors_named(size):
        _, history = train(
            _setup(records, held_out, bert_config, config, start),
            RunFolder(
                path=output_dir,
                strategy=strategy,
                sidecars=sidecars,
                fingerprint=Fingerprint(config.fixed_settings(), digests),
                starts_over=overwrite_output_dir,
                sources=[start.folder] if start else [],
            ),
            callbacks,
        )
    metrics = history.last
    if is_chief(strategy):
        _write_results(output_dir, metrics, bert_config, config, checkpoint)
    return metrics


def _check(
    config: PretrainingConfig, bert_config: BertConfig, start: Checkpoint | None
) -> None:
    if config.init_moments and not start:
        raise InputError(
            "init_moments loads the optimizer's moments from a checkpoint; "
            "give a checkpoint."
        )
    check_config(bert_config)
    bert_config.check_max_seq_length(config.max_seq_length)
    if config.pack_sequences and config.distribution_strategy == "tpu":
        raise InputError(
            "pack_sequences makes batches of changing shapes, which a TPU "
            "cannot run; leave out pack_sequences."
        )


def _check_callbacks(callbacks: Sequence[keras.callbacks.Callback]) -> None:
    for callback in as_list(callbacks):
        if getattr(callback, "restore_best_weights", False):
            raise InputError(
                f"{type(callback).__name__} would restore the best weights "
                "only after the run has saved its result, the last checkpoint; "
                "leave out restore_best_weights, and raise "
                "keep_checkpoint_max to keep earlier checkpoints."
            )


def _check_masking(config: PretrainingConfig, files: list[str]) -> None:
    """Raises InputError for a masking setting with which no record was made."""
    made_with = [x for _, x in files_to_records.settings_of_records(files)]
    for field in dataclasses.fields(MaskingConfig):
        name, value = field.name, getattr(config, field.name)
        known = [field.default, *(settings.get(name) for settings in made_with)]
        # The lengths of the features show whether max_predictions_per_seq fits.
        if name != "max_predictions_per_seq" and value not in known:
            raise InputError(
                f"{name} is {value}, but {files[0]} contains records whose "
                f"masks are already drawn; leave {name} out, or make records "
                "with this value or with dynamic_masking."
            )


def _open(
    files: list[str], config: PretrainingConfig, tokenizer: BertTokenizer | None
) -> files_to_records.PretrainingRecords:
    """Returns the records; records without masks need the tokenizer."""
    drawer = tokenizer and InstanceDrawer(
        tokenizer,
        MaskedLMMasker(tokenizer, config=config),
        max_seq_length=config.max_seq_length,
        random_seed=config.random_seed,
    )
    return files_to_records.PretrainingRecords(
        files,
        max_seq_length=config.max_seq_length,
        max_predictions_per_seq=config.max_predictions_per_seq,
        drawer=drawer,
    )


def _setup(
    records: files_to_records.PretrainingRecords,
    held_out: files_to_records.PretrainingRecords | None,
    bert_config: BertConfig,
    config: PretrainingConfig,
    start: Checkpoint | None,
) -> TrainingSetup:
    def build_model() -> keras.Model:
        packed = config.pack_sequences
        if config.replaced_tokens:
            size = config.generator_size
            model = build_electra(
                bert_config, generator_size=size, packed=packed
            )
        else:
            model = build_pretraining_model(
                bert_config, next_sentence=config.next_sentence, packed=packed
            )
        if start:
            # Not `start`, whose arrays would stay in memory during the run.
            load_to_train(model, start.place)
        return model

    objectives = _objectives(config)
    batches = functools.partial(
        pretraining_batches,
        vocab_size=bert_config.vocab_size,
        outputs=tuple(objectives),
        packed=config.pack_sequences,
        num_segments=bert_config.type_vocab_size,
    )

    def train_batches(step: int, share: BatchShard) -> tf.data.Dataset:
        order = {"shuffle_seed": config.random_seed, "first_batch": step}
        return batches(records.batches(config.train_batch_size, share, **order))

    def held_out_batches(share: BatchShard) -> tf.data.Dataset:
        assert held_out
        return batches(held_out.batches(config.eval_batch_size, share))

    generator = None
    if config.replaced_tokens:
        generator = generator_config(bert_config, config.generator_size)
    return TrainingSetup(
        config=config,
        build_model=build_model,
        objectives=objectives,
        count_work=functools.partial(
            count_work,
            config=bert_config,
            num_labels=2 if config.next_sentence else 0,
            generator=generator,
        ),
        init_moments=start.folder if start and config.init_moments else None,
        num_train_steps=config.num_train_steps,
        num_warmup_steps=config.num_warmup_steps,
        train_batches=train_batches,
        held_out_batches=held_out_batches if held_out else None,
        evaluates_first=start is not None,
    )


def _objectives(config: PretrainingConfig) -> dict[str, Objective]:
    metrics = {"accuracy": accuracy}
    objectives = {
        "masked_lm": Objective(cross_entropy, metrics, {"perplexity": tf.exp})
    }
    if config.next_sentence:
        objectives["next_sentence"] = Objective(cross_entropy, metrics)
    if config.replaced_tokens:
        objectives["replaced_tokens"] = Objective(
            replaced_tokens_loss,
            {"accuracy": replaced_tokens_accuracy},
            weight=config.replaced_tokens_weight,
        )
    return objectives


def _write_results(
    output_dir: Path,
    metrics: dict[str, float],
    bert_config: BertConfig,
    config: PretrainingConfig,
    checkpoint: str | Path | None,
) -> None:
    write_json(output_dir / "eval_results.json", metrics)
    settings = dataclasses.asdict(bert_config) | dataclasses.asdict(config)
    sections = {"Settings": settings, "Figures": metrics}
    origin = {"checkpoint": checkpoint}
    card = model_card(output_dir, "fill-mask", sections, origin)
    write_card(Checkpoint.of(output_dir).folder, card)


def _digest_of_files(names: list[str]) -> str:
    """Returns a hash of the size, the beginning and the end of each file.

    The rest is not read, because a corpus may be too large for that.
    """
    # Earlier versions had a weight for each corpus; "None" meant no weight. The
    # hash stays the same, so runs of earlier versions can be resumed.
    parts: list[str | bytes] = ["None"] if names else []
    for name in names:
        with to_path(name).open("rb") as file:
            begin = file.read(_NUM_BYTES)
            size = file.seek(0, 2)
            file.seek(max(0, size - _NUM_BYTES))
            parts += [str(size), begin, file.read()]
    return digest_of(*parts)


def _load_tokenizer(
    files: list[str],
    bert_config: BertConfig,
    config: PretrainingConfig,
    start: Checkpoint | None,
    vocab_file: str | Path,
) -> BertTokenizer:
    """Returns a tokenizer with the settings with which the records were made.

    Without such settings, the checkpoint or the vocabulary decides. The
    config's do_lower_case overrides both. Raises InputError if the files of
    records disagree, or were made with another vocabulary.
    """
    settings, first = None, ""
    for file, values in files_to_records.settings_of_records(files):
        other = TokenizerSettings.from_values(values, file)
        if settings is None:
            settings, first = other, file
        elif settings != other:
            raise InputError(
                f"{first} was made with {settings}, but {file} with {other}; "
                "give records made with the same tokenizer."
            )
    given = config.do_lower_case
    if settings is None:
        settings = resolve_tokenizer_settings(start, vocab_file, given)
    elif given is not None:
        warn_of_other_case(first, settings.do_lower_case, given)
        settings = dataclasses.replace(settings, do_lower_case=given)
    tokenizer = BertTokenizer.from_settings(vocab_file, settings)
    bert_config.check_vocab_size(tokenizer.vocab_size, vocab_file)
    files_to_records.check_vocab_of_records(files, tokenizer.vocab, vocab_file)
    return tokenizer

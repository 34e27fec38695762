"""google-research/bert's flags -> the flags of this package."""

import dataclasses
import os

from keras_bert.commands.flags import Flags
from keras_bert.errors import InputError


@dataclasses.dataclass(frozen=True)
class PretrainingFlags:
    """As in google-research/bert.

    Attributes:
        do_train: Whether to train.
        do_eval: Whether to evaluate. Without --eval_file, the run evaluates on
            --input_file.
        use_tpu: Whether to use a TPU, like --distribution_strategy=tpu.
    """

    do_train: bool | None = None
    do_eval: bool | None = None
    use_tpu: bool | None = None


@dataclasses.dataclass(frozen=True)
class FinetuningFlags(PretrainingFlags):
    """As in google-research/bert.

    Attributes:
        do_train: Whether to train. Every run also evaluates and predicts.
        do_eval: Whether to evaluate. Without --do_train, this flag means
            --num_train_epochs=0.
        do_predict: Whether to predict. Without --do_train, this flag means
            --num_train_epochs=0.
        train_file: SQuAD's train-v1.1.json or train-v2.0.json; replaces --task
            and --data_dir.
        predict_file: SQuAD's dev-v1.1.json or dev-v2.0.json, in the folder of
            the train_file.
        version_2_with_negative: Whether the files are SQuAD 2.0.
    """

    do_predict: bool | None = None
    train_file: str = ""
    predict_file: str = ""
    version_2_with_negative: bool = False


def translate_pretraining(flags: Flags) -> None:
    _translate_tpu(flags)
    if flags.do_train is False:
        raise InputError(
            "keras-bert pretrain always trains; leave out --do_train=false."
        )
    if flags.do_eval and not flags.eval_file:
        flags["eval_file"].value = flags.input_file


def translate_finetuning(flags: Flags) -> None:
    _translate_tpu(flags)
    does_others = flags.do_eval or flags.do_predict
    if flags.do_train is False or (flags.do_train is None and does_others):
        flags["num_train_epochs"].value = 0
    if flags.train_file or flags.predict_file or flags.version_2_with_negative:
        _translate_squad(flags)
    elif flags.task:
        from keras_bert.tasks.registry import known_tasks

        name = f"glue/{flags.task.lower().replace('-', '')}"  # MRPC, SST-2
        if name in known_tasks():
            flags["task"].value = name


def _translate_tpu(flags: Flags) -> None:
    if flags.use_tpu:
        flags["distribution_strategy"].value = "tpu"
    elif flags.use_tpu is False:
        flags["tpu"].value = ""  # google-research/bert ignores tpu_name then


def _translate_squad(flags: Flags) -> None:
    files = {"train": flags.train_file, "dev": flags.predict_file}
    given = [file for file in files.values() if file]
    if flags.task or flags.data_dir or not given:
        raise InputError(
            "Give either --task and --data_dir, or --train_file and "
            "--predict_file, perhaps with --version_2_with_negative."
        )
    folder = os.path.dirname(given[0])
    number, version = 1, "1.1"
    if flags.version_2_with_negative:
        number, version = 2, "2.0"
    for name, file in files.items():
        official = os.path.join(folder, f"{name}-v{version}.json")
        if file and file != official:
            raise InputError(
                f"The SQuAD file {file} must be named {official}; rename it."
            )
    flags["task"].value = f"squad/v{number}"
    flags["data_dir"].value = folder or "."

"""Checkpoints: everything that a run needs to resume.

A checkpoint is a folder `step-00001000` with `model.safetensors` (the weights
under their paths), `training_state.safetensors` (optimizer, dropout seeds and
weights that only training needs), further text files of the run, and the
checksums of all files. Folders with other names, such as a copy
`step-00001000-good`, are left alone.

A run may save only the weights that it trains. All other weights must then have
their values before the checkpoint is restored.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import keras
import numpy as np
import safetensors
from absl import logging
from safetensors import numpy as safetensors_numpy

from keras_bert.errors import InputError
from keras_bert.io import whole_files
from keras_bert.io.checksums import find_damage, write_checksums
from keras_bert.io.folders import local_copy
from keras_bert.io.safetensors_file import write_arrays
from keras_bert.io.weight_paths import weights_by_path
from keras_bert.training.gradients import seed_variables

_WEIGHTS = "model.safetensors"
_STATE = "training_state.safetensors"
_DROPOUT = "dropout_seed"
_TRAINING_ONLY = "training_only"
# This file is not checked, because a user may edit the base model's path in the
# file.
_NOT_CHECKED = {"adapters.json"}

# A function of a weight's path that returns whether the checkpoints of a run
# contain the weight.
WeightFilter = Callable[[str], bool]
# Variables and arrays, keyed by their names in a file of a checkpoint.
Variables = dict[str, keras.Variable]
Arrays = Mapping[str, np.ndarray]


def every_weight(path: str) -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class TrainingState:
    """Everything that training changes.

    Attributes:
        network: The network that is trained.
        optimizer: The optimizer of the network.
        result: The model that the run produces; it shares the network's
            weights.
        weight_filter: A function of a weight's path that returns whether
            checkpoints contain this weight of the result.
    """

    network: keras.Model
    optimizer: keras.optimizers.Optimizer
    result: keras.Model
    weight_filter: WeightFilter = every_weight

    def __post_init__(self) -> None:
        weights_by_path(self.network)  # fails before the training, not after it

    def variables(self) -> dict[str, Variables]:
        """Returns the variables of each file of a checkpoint, by file name."""
        paths = weights_by_path(self.result)
        return {
            _WEIGHTS: _weights(self.result, self.weight_filter),
            _STATE: self._optimizer_variables()
            | _numbered(_DROPOUT, seed_variables(self.network))
            | {
                f"{_TRAINING_ONLY}/{path}": w
                for path, w in weights_by_path(self.network).items()
                if path not in paths
            },
        }

    def _optimizer_variables(self) -> Variables:
        # The name distinguishes optimizers whose variables have equal shapes.
        name = type(self.optimizer).__name__
        return _numbered(name, self.optimizer.variables)

    def restore(self, checkpoint: Path) -> None:
        """Assigns the values in a checkpoint to the variables.

        Raises InputError if another model wrote the checkpoint.
        """
        for name, variables in self.variables().items():
            file = checkpoint / name
            _assign(variables, _load(file), file)

    def restore_moments(self, checkpoint: Path) -> None:
        """Assigns a checkpoint's optimizer moments, but not its update count.

        Raises InputError if the folder is not a checkpoint of a run with the
        same weights and the same optimizer.
        """
        file = checkpoint / _STATE
        if not file.is_file():
            raise InputError(
                f"{checkpoint} has no {_STATE}, so there are no optimizer "
                "moments to load; give an output_dir of keras-bert pretrain."
            )
        name = type(self.optimizer).__name__
        moments, arrays = (
            # All other variables of an optimizer are scalars.
            {
                n: x
                for n, x in state.items()
                if n.startswith(name) and len(x.shape)
            }
            for state in (self._optimizer_variables(), _load(file))
        )
        _assign(moments, arrays, file)


@contextlib.contextmanager
def checkpoint_writer(
    state: TrainingState,
    folder: Path,
    *,
    sidecars: Mapping[str, str],
    keep_max: int,
) -> Iterator[Callable[[int], None]]:
    """Yields a function that writes the checkpoint of a step.

    The function copies the present state and writes it in the background while
    training continues. It removes all but the last `keep_max` checkpoints.
    `sidecars` maps the names of text files to their texts; these files are
    saved beside the weights.

    The next call of the function, or the end of the `with` block, waits for the
    checkpoint and raises the error if it could not be written.
    """

    def write(step: int, files: Mapping[str, Arrays]) -> None:
        write_checkpoint(step_folder(folder, step), files, sidecars)
        kept = _checkpoints(folder)[-keep_max:]
        for checkpoint in _folders(folder):
            if checkpoint not in kept:
                whole_files.remove(checkpoint)

    def save(step: int) -> None:
        # Copies, because the next step may write to the memory of an array.
        files = {
            file: {name: np.array(v) for name, v in variables.items()}
            for file, variables in state.variables().items()
        }
        while writing:
            writing.pop().result()
        writing.append(thread.submit(write, step, files))

    writing: list[Future[None]] = []
    with ThreadPoolExecutor(1) as thread:
        try:
            yield save
        finally:
            while writing:
                writing.pop().result()


def write_checkpoint(
    folder: Path, files: Mapping[str, Arrays], sidecars: Mapping[str, str]
) -> None:
    """Writes a folder of array files and text files, atomically.

    `files` maps file names to arrays, and `sidecars` maps file names to texts.
    The folder replaces an earlier folder with the same path. `find_damage` can
    check the new folder. Raises OSError if the disk is full.
    """
    with (
        whole_files.full_disk_named(folder, safetensors.SafetensorError),
        whole_files.atomic_path(folder) as path,
    ):
        path.mkdir()
        for name, arrays in files.items():
            write_arrays(path / name, arrays)
        whole_files.write_texts(path, sidecars)
        write_checksums(path, {*files, *sidecars} - _NOT_CHECKED)


def write_weights(
    model: keras.Model,
    folder: Path,
    sidecars: Mapping[str, str],
    weight_filter: WeightFilter = every_weight,
) -> None:
    """Writes a checkpoint with the weights of a model under their paths."""
    weights = {p: w.numpy() for p, w in _weights(model, weight_filter).items()}
    write_checkpoint(folder, {_WEIGHTS: weights}, sidecars)


def latest_step(folder: Path) -> int:
    """Returns the step of the last sound checkpoint in a folder, or 0.

    Checkpoints of later steps, which are damaged, are renamed, with a warning.
    """
    for checkpoint in reversed(_checkpoints(folder)):
        damage = find_damage(checkpoint)
        if damage is None:
            return int(checkpoint.name.removeprefix("step-"))
        aside = checkpoint.with_name(f"{checkpoint.name}-damaged")
        logging.warning(
            f"The checkpoint {checkpoint} cannot be used: {damage}. It is "
            f"renamed to {aside.name}, and the run resumes from the previous "
            "checkpoint."
        )
        whole_files.remove(aside)
        checkpoint.replace(aside)  # local: no checkpoint on a store is checked
    return 0


def checkpoint_of_step(folder: Path, step: int) -> Path:
    """Returns the folder of a step; raises InputError if there is none."""
    checkpoint = step_folder(folder, step)
    if not checkpoint.is_dir():
        raise InputError(
            f"There is no {checkpoint}, but another worker resumes from this "
            "checkpoint; give all workers the same output_dir, on a disk that "
            "all workers can read."
        )
    return checkpoint


def _load(file: Path) -> Arrays:
    folder = local_copy(file.parent, [file.name])
    try:
        return safetensors_numpy.load_file(folder / file.name)
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{file} cannot be read ({error}); remove the folder of this file "
            "to resume from the previous checkpoint."
        ) from error


def step_folder(folder: Path, step: int) -> Path:
    """Returns the path of a step's checkpoint, which need not exist."""
    return folder / f"step-{step:08d}"


def _checkpoints(folder: Path) -> list[Path]:
    return sorted(filter(whole_files.is_whole, _folders(folder)))


def _folders(folder: Path) -> list[Path]:
    return list(folder.glob("step-" + 8 * "[0-9]"))


def _weights(model: keras.Model, weight_filter: WeightFilter) -> Variables:
    return {p: w for p, w in weights_by_path(model).items() if weight_filter(p)}


def _numbered(kind: str, variables: Sequence[keras.Variable]) -> Variables:
    # By index, because Keras numbers variable names across the whole process.
    return {f"{kind}/{i:04d}": v for i, v in enumerate(variables)}


def _assign(variables: Variables, arrays: Arrays, file: Path) -> None:
    shapes = {name: tuple(v.shape) for name, v in variables.items()}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        raise InputError(
            f"{file} was written by a run with another model or optimizer; "
            "give this run an output_dir of its own."
        )
    for name, variable in variables.items():
        variable.assign(arrays[name])

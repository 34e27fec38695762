"""A checkpoint that was damaged is never resumed from."""

import shutil

import numpy as np
import pytest
from small_run import train_small

from keras_bert.io.checksums import find_damage
from keras_bert.training.checkpoint import latest_step

_NUM_DAMAGES = 300


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 6 steps, with checkpoints of steps 4 and 6, and its model."""
    folder = tmp_path_factory.mktemp("run")
    model, _ = train_small(folder, 6)
    return folder, model


def test_every_truncation_and_bit_flip_is_found(whole):
    checkpoint = whole[0] / "checkpoints" / "step-00000006"
    names = ["checksums.json", "fingerprint.json", "model.safetensors"]
    names.append("training_state.safetensors")
    files = [checkpoint / name for name in names]
    assert find_damage(checkpoint) is None
    random = np.random.default_rng(7)
    for i in range(_NUM_DAMAGES):
        file = files[i % len(files)]
        content = file.read_bytes()
        damaged = bytearray(content)
        place = random.integers(len(content))
        if i // len(files) % 2:
            damaged[place] ^= 1 << random.integers(8)
        else:
            del damaged[place:]
        file.write_bytes(damaged)
        damage = find_damage(checkpoint)
        file.write_bytes(content)
        # A flip in the name of a file within the checksums names that file.
        assert damage and ("damaged" in damage or "missing" in damage), (
            file.name,
            place,
        )


@pytest.mark.parametrize(
    "name", ["model.safetensors", "training_state.safetensors"]
)
def test_the_checkpoint_before_it_is_taken(whole, tmp_path, name, caplog):
    folder = tmp_path / "run"
    shutil.copytree(whole[0], folder)
    file = folder / "checkpoints" / "step-00000006" / name
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    resumed, _ = train_small(folder, 6)
    assert f"step-00000006 cannot be used: {name} is damaged" in caplog.text
    for a, b in zip(whole[1].weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
    names = [path.name for path in (folder / "checkpoints").iterdir()]
    assert sorted(names) == [
        "step-00000004",
        "step-00000006",
        "step-00000006-damaged",
    ]


def test_a_run_without_a_sound_checkpoint_starts_again(whole, tmp_path, caplog):
    shutil.copytree(whole[0], tmp_path / "run")
    folder = tmp_path / "run/checkpoints"
    for file in folder.glob("*/model.safetensors"):
        file.write_bytes(b"")
    assert latest_step(folder) == 0
    assert "model.safetensors is damaged" in caplog.text
    assert train_small(tmp_path / "run", 2)[1]["step"] == 2

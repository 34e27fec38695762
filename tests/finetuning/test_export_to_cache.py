"""A checkpoint is exported once, and again when it has changed.

The example of `export_to_cache` exports a fine-tuned model.
"""

import os
import shutil

import pytest

import keras_bert.checkpoints.find as find
import keras_bert.export.pretrained as pretrained
from keras_bert.finetuning.export_to_cache import export_to_cache
from keras_bert.predict.versions import new_version


@pytest.fixture
def exports(monkeypatch):
    """The exports that were made, as their arguments."""
    exports = []

    def export_pretrained(checkpoint, folder, config):
        assert config.normalize  # as the vectors of `load_embedder`
        exports.append((checkpoint, config.max_seq_length))
        with new_version(folder) as version:
            (version.path / "saved_model.pb").touch()

    monkeypatch.setattr(pretrained, "export_pretrained", export_pretrained)
    return exports


def test_a_changed_checkpoint_is_exported_again(checkpoint, exports, tmp_path):
    checkpoint = shutil.copytree(checkpoint, tmp_path / "base")
    folder = export_to_cache(checkpoint, tmp_path / "cache")
    assert folder.name.startswith(f"{checkpoint.name}-")
    assert (folder / "1" / "saved_model.pb").is_file()
    # The network has 16 positions.
    assert exports == [(checkpoint, 16)]
    assert export_to_cache(checkpoint, tmp_path / "cache") == folder
    assert len(exports) == 1
    os.utime(checkpoint / "vocab.txt", (1, 1))
    assert export_to_cache(str(checkpoint), tmp_path / "cache") != folder
    assert len(exports) == 2


def test_an_exported_folder_is_served_as_it_is(checkpoint, exports, tmp_path):
    folder = export_to_cache(checkpoint, tmp_path)
    assert export_to_cache(str(folder), tmp_path / "other") == folder
    assert len(exports) == 1 and not (tmp_path / "other").exists()
    with pytest.raises(FileNotFoundError, match="No checkpoint at"):
        export_to_cache(folder / "1", tmp_path)


def test_a_name_on_the_hub(checkpoint, exports, tmp_path, monkeypatch):
    monkeypatch.setattr(find, "download", lambda url: checkpoint)
    url = "hf://owner/mini@main"
    folder = export_to_cache(url, tmp_path)
    assert folder.name.startswith("mini@main-")
    assert exports == [(url, 16)]


def test_a_cache_on_a_store(checkpoint, exports, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = f"memory://{tmp_path.name}"
    folder = export_to_cache(checkpoint, url)
    assert (folder / "1" / "saved_model.pb").is_file()
    assert export_to_cache(checkpoint, url) == folder and len(exports) == 1
    assert not list(tmp_path.iterdir())

"""All that the package reads and writes may be on a store."""

import contextlib
import functools
import gzip
import io
import json
import shutil

import numpy as np
import pytest
from kind_examples import export, make_kind
from small_checkpoint import write_checkpoint
from small_run import history_rows, train_small
from small_saved_model import save_small_model
from store_kills import Killed, killed_before

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.export.convert import convert_checkpoint
from keras_bert.io.folders import MARKER, upload_folder
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.io.whole_files import is_whole
from keras_bert.models.pretraining import build_pretraining_model
from keras_bert.predict.predict_files import predict_files
from keras_bert.predict.versions import find_versions, new_version
from keras_bert.pretraining.write import run as write_run
from keras_bert.pretraining.write.text_to_blocks import TextSource, cut_blocks
from keras_bert.server.run import load_models
from keras_bert.tasks.registry import get_task
from keras_bert.text.tokenizer import BertTokenizer
from keras_bert.training.best import Selection
from keras_bert.training.run import _Run
from keras_bert.vectors.embed_files import embed_files
from keras_bert.vectors.embedder import load_embedder

SENTENCES = ["the fox jumped over a dog .", "a film is not bad , the movie"]


@pytest.fixture(scope="module")
def pretrained(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("m") / "pretrained"
    return write_checkpoint(folder, config, build=build_pretraining_model)


def test_a_resumable_file_has_the_same_bytes_after_any_kill(
    remote, tmp_path, monkeypatch
):
    """Each run is killed at a later change of the store than the one before."""

    def write(path):
        file = ResumableFile(path)
        for number in range((file.state or {"next": 0})["next"], 3):
            file.append(f"{number}\n", {"next": number + 1})
        file.finish()

    write(tmp_path / "a.gz")
    path = remote / "a.gz"
    for moment in range(20):
        with killed_before(moment, remote.fs, monkeypatch):
            try:
                write(path)
                break
            except Killed:
                assert not path.exists() or gzip.decompress(path.read_bytes())
    assert moment > 5
    assert path.read_bytes() == (tmp_path / "a.gz").read_bytes()
    assert [p.name for p in remote.iterdir()] == ["a.gz"]


def test_a_killed_run_resumes_from_a_whole_checkpoint(
    remote, tmp_path, monkeypatch
):
    selection = Selection(lambda model: {"accuracy": 0.5}, "accuracy")
    whole, _ = train_small(tmp_path, 7, selection=selection)
    add_row = _Run._add_row

    def killed(self, figures):
        add_row(self, figures)
        if self.step == 5:
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(_Run, "_add_row", killed)
        train_small(str(remote), 7, selection=selection)
    # And another one while it uploads.
    half = remote / "checkpoints" / "step-00000006"
    (half / MARKER).write_text("")
    (half / "model.safetensors").write_text("half")
    resumed, _ = train_small(str(remote), 7, selection=selection)
    for a, b in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy(), a.path)
    assert [row["loss"] for row in history_rows(remote)] == [
        row["loss"] for row in history_rows(tmp_path)
    ]

    def names(folder):
        return sorted(
            "/".join(file.parts[len(folder.parts) :])
            for file in folder.rglob("*")
            if file.is_file() and "tfevents" not in file.name
        )

    assert names(remote) == names(tmp_path)
    assert len(list(remote.glob("tensorboard/*/*tfevents*"))) == 2


@pytest.mark.slow
def test_checkpoints_are_converted(pretrained, remote):
    upload_folder(pretrained, remote / "ours")
    convert_checkpoint(remote / "ours", str(remote / "google"), "google_tf1")
    convert_checkpoint(str(remote / "google"), remote / "hub", "huggingface")
    convert_checkpoint(remote / "hub", remote / "back", "keras")
    before, after = (
        Checkpoint.of(path).arrays for path in (pretrained, remote / "back")
    )
    assert before.keys() == after.keys()
    assert all(before[path].equals(after[path]) for path in before)
    vocab = (remote / "back" / "vocab.txt").read_bytes()
    assert vocab == (pretrained / "vocab.txt").read_bytes()


@pytest.mark.slow
def test_texts_are_embedded(pretrained, remote):
    upload_folder(pretrained, remote / "bert")
    (remote / "in.txt").write_text("\n".join(SENTENCES))
    embedder = load_embedder(str(remote / "bert"), max_seq_length=16)
    out = remote / "out.npy"
    assert embed_files(embedder, f"{remote}/*.txt", out) == 2
    vectors = np.load(io.BytesIO(out.read_bytes()))
    np.testing.assert_array_equal(vectors, embedder.embed(SENTENCES))
    assert {x.name for x in remote.iterdir()} == {"bert", "in.txt", "out.npy"}


@pytest.mark.slow
def test_records_are_the_same_after_any_kill(
    pretrained, remote, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        write_run, "cut_blocks", functools.partial(cut_blocks, block_size=300)
    )
    text = "\n".join([*SENTENCES, ""] * 40)
    tokenizer = BertTokenizer(pretrained / "vocab.txt")
    names = ("a.tfrecord", "b.tfrecord")

    def write(folder):
        (folder / "in.txt").write_text(text)
        write_run.create_pretraining_data(
            TextSource(str(folder / "in.txt")).lines(),
            [str(folder / name) for name in names],
            tokenizer,
            write_run.PretrainingDataConfig(
                max_seq_length=14, max_predictions_per_seq=3, dupe_factor=1
            ),
        )

    write(tmp_path)
    for run in range(9):
        # In each run, another change is the last.
        with (
            contextlib.suppress(Killed),
            killed_before(6 + run, remote.fs, monkeypatch),
        ):
            write(remote)
            break
    assert 2 < run < 8
    for name in (*names, "a.tfrecord.json"):
        assert (remote / name).read_bytes() == (tmp_path / name).read_bytes()
    # Text, records, their indexes and the .json.
    assert len(list(remote.iterdir())) == 6


@pytest.mark.slow
def test_an_exported_model_is_asked(config, vocab_file, remote):
    kind = make_kind("classification", vocab_file, config, labels=("no", "yes"))
    version = export(kind.build_model(config), kind, remote / "served")
    assert version == remote / "served" / "1"
    text = "".join(f"the fox {i} !\n" for i in range(30))
    (remote / "in.txt.gz").write_bytes(gzip.compress(text.encode()))
    for model_dir in remote / "served", version:
        out = remote / "out.jsonl"
        assert predict_files(model_dir, f"{remote}/in*.gz", str(out)) == 0
        answers = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(answers) == 30
        assert set(answers[0]["scores"]) == {"no", "yes"}


def test_a_server_loads_whole_versions_only(remote, tmp_path, monkeypatch):
    save_small_model(tmp_path, signatures=["version"])

    def write():
        with new_version(str(remote)) as version:
            shutil.copytree(tmp_path, version.path, dirs_exist_ok=True)
        return version.path

    assert write() == remote / "1"
    model = load_models({"small": str(remote)}, {})["small"]
    for _ in range(2):
        model.poll()
    with model.use() as version:
        assert version.number == 1
    with (
        contextlib.suppress(Killed),
        killed_before(2, remote.fs, monkeypatch),
    ):
        write()
    assert (remote / "2").exists() and not is_whole(remote / "2")
    assert write() == remote / "3"
    # Other tools copy without a mark.
    for file in tmp_path.rglob("*.*"):
        place = remote / "7" / file.relative_to(tmp_path).as_posix()
        place.write_bytes(file.read_bytes())
    assert sorted(find_versions(remote)) == [1, 3, 7]
    for _ in range(2):
        model.poll()
    with model.use() as version:
        assert version.number == 7


def test_task_files_are_read(remote):
    (remote / "train.tsv").write_text("sentence\tlabel\na film\t1\n")
    task = get_task("glue/sst2")
    assert list(task.read(str(remote), "train")) == [
        {"sentence": "a film", "label": "1"}
    ]
    with pytest.raises(
        FileNotFoundError, match="There is no validation file at s3://"
    ):
        task.read(remote, "validation")

"""New versions, and those that cannot be loaded."""

import gc
import shutil
import threading

import pytest
from small_saved_model import save_small_model
from small_server import client_of, serving, wait_until

from keras_bert.io.checksums import write_checksums
from keras_bert.io.folders import upload_folder
from keras_bert.server import versions
from keras_bert.server.versions import ModelVersions

VERSION = {"instances": ["a"], "signature_name": "version"}


@pytest.fixture(scope="module")
def second(tmp_path_factory):
    folder = tmp_path_factory.mktemp("second") / "2"
    save_small_model(folder, version=2, signatures=["version"])
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first") / "1"
    save_small_model(folder, signatures=["version"])
    return folder


@pytest.fixture
def folder(first, tmp_path):
    shutil.copytree(first, tmp_path / "small" / "1")
    return tmp_path / "small"


def _poll(client, times=3):
    for _ in range(times):
        client.model.poll()


def _version(client, path="small"):
    response = client.post(f"/v1/models/{path}:predict", json=VERSION)
    return response.json().get("predictions", [response.status_code])[0]


def _states(client):
    status = client.get("/v1/models/small").json()["model_version_status"]
    return {x["version"]: x["state"] for x in status}


def test_a_new_version_replaces_the_old(folder, second):
    with client_of(folder) as client:
        assert _version(client) == 1
        shutil.copytree(second, folder / "2")
        _poll(client)
        assert _version(client) == 2
        assert _version(client, "small/versions/2") == 2
        assert _version(client, "small/versions/1") == 404
        assert _states(client) == {"2": "AVAILABLE", "1": "END"}
        # Back to the old one.
        shutil.rmtree(folder / "2")
        _poll(client)
        assert _version(client) == 1
        assert _states(client) == {"2": "END", "1": "AVAILABLE"}
        # A folder that vanishes ends nothing.
        shutil.rmtree(folder)
        _poll(client)
        assert _version(client) == 1


def test_a_version_that_is_being_copied_waits(folder, second):
    with client_of(folder) as client:
        partial = folder / "2"
        partial.mkdir()
        _poll(client)
        for name in ("saved_model.pb", "variables/variables.index"):
            (partial / name).parent.mkdir(exist_ok=True)
            shutil.copy(second / name, partial / name)
            _poll(client, times=1)
            assert _states(client) == {"1": "AVAILABLE"}
        shutil.copytree(second, partial, dirs_exist_ok=True)
        _poll(client)
        assert _version(client) == 2


def test_a_damaged_version_is_reported_and_the_old_one_serves(folder, second):
    with client_of(folder) as client:
        shutil.copytree(second, folder / "3")
        (data,) = (folder / "3" / "variables").glob("*.data-*")
        data.write_bytes(data.read_bytes()[:100])
        _poll(client)
        assert _version(client) == 1
        assert client.get("/readyz").status_code == 200
        status = client.get("/v1/models/small").json()["model_version_status"]
        newest = status[0]
        assert (newest["version"], newest["state"]) == ("3", "END")
        assert newest["status"]["error_code"] == "UNKNOWN"
        assert newest["status"]["error_message"]
        # It is tried again when it has changed.
        shutil.copytree(second, folder / "3", dirs_exist_ok=True)
        _poll(client)
        assert _version(client) == 2
        assert _states(client) == {"3": "AVAILABLE", "1": "END"}


def test_a_version_that_is_copied_in_part_is_not_taken(folder, second):
    with client_of(folder) as client:
        shutil.copytree(second, folder / "2")
        vocab_file = folder / "2" / "assets" / "vocab.txt"
        vocab_file.write_text("the\nfox\n")
        write_checksums(folder / "2", ["saved_model.pb", "assets/vocab.txt"])
        vocab_file.write_text("the\n")
        _poll(client)
        assert _version(client) == 1
        status = client.get("/v1/models/small").json()["model_version_status"]
        reason = status[0]["status"]["error_message"]
        assert "assets/vocab.txt is damaged; copy the folder" in reason
        vocab_file.write_text("the\nfox\n")
        _poll(client)
        assert _version(client) == 2


def test_a_restart_serves_the_newest_version_that_is_whole(folder):
    (folder / "7").mkdir()
    (folder / "7" / "saved_model.pb").write_bytes(b"damaged")
    with client_of(folder) as client:
        assert _version(client) == 1
        assert _states(client) == {"7": "END", "1": "AVAILABLE"}


def test_versions_with_a_label_stay(folder, second):
    with client_of(folder, labels={"stable": 1}) as client:
        shutil.copytree(second, folder / "2")
        _poll(client)
        assert _version(client) == 2
        assert _version(client, "small/labels/stable") == 1
        assert _states(client) == {"2": "AVAILABLE", "1": "AVAILABLE"}


def test_a_request_keeps_its_version_until_it_ends(folder, second):
    with client_of(folder) as client:
        with client.model.use() as version:
            shutil.copytree(second, folder / "2")
            _poll(client)
            assert _states(client) == {"2": "AVAILABLE", "1": "UNLOADING"}
            assert _version(client) == 2
            assert version.servable is not None
        assert _states(client) == {"2": "AVAILABLE", "1": "END"}
        assert version.servable is None


def test_no_request_is_lost_in_a_swap(folder, second):
    with client_of(folder) as client:
        answers, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                answers.append(_version(client))

        threads = [threading.Thread(target=ask) for _ in range(5)]
        for thread in threads:
            thread.start()
        shutil.copytree(second, folder / "2")
        _poll(client)
        while answers[-1] != 2:
            pass
        stop.set()
        for thread in threads:
            thread.join()
        assert set(answers) == {1, 2}


def test_until_a_model_is_loaded(small_model):
    model = ModelVersions("small", small_model, lambda *args: 1 / 0, {})
    assert not model.is_ready() and model.is_loading()
    with pytest.raises(Exception, match="still being loaded") as error:
        with model.use():
            pass
    assert error.value.status == 503
    for _ in range(2):
        model.poll()
    (version,) = model.versions()
    assert version.error == "ZeroDivisionError: division by zero"
    with pytest.raises(Exception, match="Servable not found") as error:
        with model.use():
            pass
    assert error.value.status == 404


class _Outage(BaseException):
    """Not an Exception: what asyncio cancels raises such ones too."""


def _fail(*args):
    raise _Outage("no answer from the store")


@pytest.fixture
def watched(tmp_path):
    """A client of a server whose model is only a folder, version 1 of 2."""
    for number in "12":
        (tmp_path / number).mkdir()
        (tmp_path / number / "saved_model.pb").touch()
    (tmp_path / "2" / "saved_model.pb").rename(tmp_path / "2" / "later")
    model = ModelVersions("small", tmp_path, lambda *args: "model", {})
    with serving({"small": model}) as client:
        client.model, client.folder = model, tmp_path
        yield client


def _failed_polls(client):
    lines = client.get("/monitoring/prometheus/metrics").text.splitlines()
    (line,) = (x for x in lines if x.startswith("keras_bert_failed_polls{"))
    return float(line.removeprefix('keras_bert_failed_polls{model="small"}'))


@pytest.mark.parametrize(
    "function", ["numbered_folders", "file_states", "brief_copy"]
)
def test_an_outage_of_the_store_is_told_and_outlived(
    watched, monkeypatch, function
):
    events = []
    monkeypatch.setattr(versions, "log", lambda *x, **y: events.append((x, y)))
    _poll(watched)
    assert watched.get("/readyz").json() == {"status": "ready"}
    assert _failed_polls(watched) == 0
    (watched.folder / "2" / "later").rename(
        watched.folder / "2" / "saved_model.pb"
    )
    _poll(watched, times=1)
    with monkeypatch.context() as patches:
        patches.setattr(versions, function, _fail)
        events.clear()
        _poll(watched, times=3)
    assert events[-1] == (
        ("poll_failed",),
        {
            "model": "small",
            "times": 3,
            "error": "_Outage: no answer from the store",
        },
    )
    assert _states(watched) == {"1": "AVAILABLE"}
    ready = watched.get("/readyz")
    assert ready.status_code == 200  # version 1 still answers
    assert ready.json() == {
        "status": "ready",
        "failed_polls": {"small": "_Outage, 3 times"},
    }
    assert _failed_polls(watched) == 3
    _poll(watched)
    assert watched.get("/readyz").json() == {"status": "ready"}
    assert _failed_polls(watched) == 0
    assert _states(watched) == {"2": "AVAILABLE", "1": "END"}


def test_an_outage_at_the_start(watched, monkeypatch):
    monkeypatch.setattr(versions, "file_states", _fail)
    _poll(watched, times=1)
    response = watched.get("/readyz")
    assert response.status_code == 503
    assert response.json()["error"] == (
        "The model small is not loaded (_Outage, 1 times)."
    )
    monkeypatch.undo()
    _poll(watched)
    assert watched.get("/readyz").status_code == 200


def test_the_poller_outlives_an_outage(folder, second, monkeypatch):
    model = ModelVersions("small", folder, lambda *args: "model", {})
    monkeypatch.setattr(versions, "numbered_folders", _fail)
    with versions.polling([model], 0.01):
        wait_until(lambda: model.failed_polls > 2)
        monkeypatch.undo()
        wait_until(model.is_ready)
        gc.unfreeze()
        shutil.rmtree(folder / "1")
        shutil.copytree(second, folder / "2")
        # The garbage collector looks at no model that is loaded.
        wait_until(gc.get_freeze_count)
    assert model.failed_polls == 0


@pytest.fixture
def requests(caplog):
    """The requests to the store."""
    caplog.set_level("INFO", "werkzeug")

    def requests():
        found = [x for x in caplog.records if x.name == "werkzeug"]
        return [record.getMessage().split('"')[1] for record in found]

    return requests


@pytest.mark.slow
def test_a_model_on_a_store(remote, first, second, requests, caplog, tmp_path):
    loaded = []

    def load(folder):
        files = {path.name for path in folder.rglob("*")}
        assert "saved_model.pb" in files and "variables.index" in files
        loaded.append(folder)

    for number in range(1, 8):
        upload_folder(first, remote / str(number))
    model = ModelVersions("small", remote, load, {})
    for _ in range(2):
        model.poll()
    assert [version.number for version in model.versions()] == [7]
    # A folder is asked once for each poll, however many versions it has.
    caplog.clear()
    for _ in range(5):
        model.poll()
    assert len(requests()) == 5, requests()
    # A version that cannot be loaded is asked once more.
    (remote / "8" / "saved_model.pb").write_bytes(b"damaged")
    for _ in range(3):
        model.poll()
    assert [x.state for x in model.versions()] == ["END", "AVAILABLE"]
    caplog.clear()
    model.poll()
    assert len(requests()) == 2, requests()
    # What is in memory is not on the disk.
    assert len(loaded) == 1 and not loaded[0].exists()

"""hf://owner/name, with a local server in place of the Hub."""

import http.server
import json
import os
import subprocess
import sys
import threading

import pytest

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.sentence_transformers import (
    CONFIG,
    CONFIG_FILE,
    read_known,
)

huggingface_hub = pytest.importorskip(
    "huggingface_hub", reason="the extra `hub` is missing"
)

COMMIT = "c0ffee" * 6 + "abcd"
SCRIPT = """
import sys
from keras_bert.checkpoints.find import download
folder = download(sys.argv[1])
print(*sorted(path.name for path in folder.iterdir()))
print((folder / "config.json").read_text())
"""


class _Hub(http.server.BaseHTTPRequestHandler):
    """Answers the requests of a snapshot: repository, list of files, file."""

    repositories = {
        "some/bert": {
            "config.json": b'{"model_type": "bert"}',
            "model.safetensors": b"weights",
            "pytorch_model.bin": b"the same weights once more",
            "tf_model.h5": b"and again",
            "tokenizer_config.json": b"{}",
            "vocab.txt": b"[PAD]",
        },
        "some/older-bert": {
            "config.json": b'{"model_type": "bert"}',
            "pytorch_model.bin": b"weights",
        },
        "some/old-sentences": {
            "modules.json": b'[{"path": "0_BERT", "type": "a"}]',
            "0_BERT/config.json": b"{}",
            "0_BERT/pytorch_model.bin": b"weights",
            "0_BERT/vocab.txt": b"[PAD]",
            "1_Pooling/config.json": b"{}",
            "2_Dense/model.safetensors": b"weights of the Dense",
            "config_sentence_transformers.json": b'{"prompts": {"q": "a"}}',
            "0_BERT/sentence_roberta_config.json": b"{}",
            "onnx/model.onnx": b"the same weights once more",
        },
    }

    def do_GET(self):
        _, *parts = self.path.partition("?")[0].split("/")
        if parts[:2] == ["api", "models"]:
            name, revision = "/".join(parts[2:4]), parts[-1]
            files = self.repositories.get(name, {})
            if files and revision in ("main", COMMIT):
                info = {"id": name, "sha": COMMIT}
                tree = [
                    {"type": "file", "path": file, "size": len(body), "oid": ""}
                    for file, body in files.items()
                ]
                info = tree if parts[4] == "tree" else info
                return self._answer(json.dumps(info).encode())
        elif parts[2:3] == ["resolve"]:
            files = self.repositories.get("/".join(parts[:2]), {})
            return self._answer(files.get("/".join(parts[4:])))
        return self._answer(None)

    do_HEAD = do_GET

    def _answer(self, body):
        self.send_response(404 if body is None else 200)
        body = body or b""
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hash(body)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if not body:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def hub(tmp_path):
    """Yields a function that runs `download` in a process with this Hub."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def download(url, **env):
        return subprocess.run(
            [sys.executable, "-c", SCRIPT, url],
            capture_output=True,
            text=True,
            env=os.environ
            | {
                "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
                "HF_HOME": str(tmp_path / "home"),
                "NO_PROXY": "127.0.0.1",
                **env,
            },
        )

    yield download
    server.shutdown()
    server.server_close()


def test_safetensors_config_and_vocabulary_are_fetched(hub, tmp_path):
    done = hub("hf://some/bert")
    assert done.stdout.splitlines() == [
        "config.json model.safetensors tokenizer_config.json vocab.txt",
        '{"model_type": "bert"}',
    ], done.stderr
    assert list((tmp_path / "home").rglob("model.safetensors"))
    # The second time, the files come from the cache.
    offline = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    assert hub("hf://some/bert", **offline).stdout == done.stdout
    assert hub(f"hf://some/bert@{COMMIT}").stdout == done.stdout


def test_an_address_is_resolved_once_a_run(tmp_path, monkeypatch):
    calls = []

    def snapshot_download(name, **kwargs):
        calls.append(name)
        (tmp_path / "model.safetensors").touch()
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    for _ in range(3):
        assert Checkpoint.of("hf://resolved/once").folder == tmp_path
    assert calls == ["resolved/once"]


def test_the_bin_file_if_there_is_no_other(hub):
    done = hub("hf://some/older-bert")
    assert done.stdout.startswith("config.json pytorch_model.bin"), done.stderr


def test_the_folders_of_all_modules(hub, tmp_path):
    hub("hf://some/old-sentences")
    (folder,) = (tmp_path / "home").rglob("snapshots/*")
    files = {x.relative_to(folder).as_posix() for x in folder.rglob("*.*")}
    assert files == {*_Hub.repositories["some/old-sentences"]} - {
        "onnx/model.onnx"
    }
    values = read_known(folder / CONFIG_FILE, CONFIG)
    assert values["prompts"] == {"q": "a"}


@pytest.mark.parametrize(
    ("url", "env"),
    [
        ("hf://some/typo", {}),
        ("hf://a/b/c/d", {}),
        ("hf://some/bert", {"HF_ENDPOINT": "http://127.0.0.1:9"}),
        ("hf://some/bert", {"HF_HUB_OFFLINE": "1"}),
        ("hf://some/bert@no-such-branch", {}),
    ],
)
def test_a_failed_download_is_one_sentence(hub, url, env):
    done = hub(url, **env)
    assert done.returncode
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"OSError: Cannot get {url} (")
    assert "check the name, the connection and HF_ENDPOINT" in last

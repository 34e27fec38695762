"""What README.md and docs/ say: their links, their commands, their names."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache

import pytest
from doc_pages import (
    PAGES,
    ROOT,
    SCRIPTS,
    blocks,
    commands,
)

import keras_bert

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)


def _anchors(text):
    """Returns the anchors of the headings, as GitHub makes them."""
    found = []
    for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        found.append(anchor + (f"-{n}" if (n := found.count(anchor)) else ""))
    return found


_TEXTS = sorted(
    {*PAGES, *ROOT.glob("*.md"), *(ROOT / "benchmarks").rglob("*.md")}
    | set(ROOT.glob("keras_bert*/**/*.md"))
)


@pytest.mark.parametrize("page", _TEXTS, ids=lambda page: page.name)
def test_no_link_is_dead(page):
    text = page.read_text(encoding="utf-8")
    for link in _LINK.findall(_CODE.sub("", text)):
        if link.startswith(("https://", "http://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in _anchors(target.read_text("utf-8")), link


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    """Also the reference, from docstrings; without running the notebooks."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q"]
    command += ["-D", "nb_execution_mode=off", ROOT / "docs", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "TextClassifier" in (tmp_path / "api/keras_bert.html").read_text()


def test_the_index_has_every_page():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page


def test_every_file_that_contributing_names_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {x.name for x in (ROOT / "keras_bert").iterdir() if x.is_dir()}
    named = re.findall(r"`((?:keras_bert/)?([a-z_]+)/[\w/.]*)`", text)
    assert named
    for path, room in named:
        if room in rooms:
            path = f"keras_bert/{path.removeprefix('keras_bert/')}"
        elif not (ROOT / room).is_dir():
            continue  # of benchmarks/
        assert (ROOT / path).exists(), path
    files = {
        file.name
        for folder in ("keras_bert", "benchmarks", "tests")
        for file in (ROOT / folder).rglob("*.py")
    }
    assert set(re.findall(r"`([a-z_]+\.py)`", text)) <= files


def test_pages_are_short():
    for page in PAGES:
        most = 150 if page.name == "README.md" else 200
        assert len(page.read_text("utf-8").splitlines()) <= most, page


# Of absl, and of the file of a task.
_FLAGS_OF_OTHERS = ("--flagfile", "--unit", "--features", "--bilstm_size")


@cache
def _flags(subcommand):
    script = ROOT / "run_scripts" / f"{SCRIPTS[subcommand]}.py"
    done = subprocess.run(
        [sys.executable, script, "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "--" in done.stdout, done.stderr
    return set(re.findall(r"--(?:\[no\])?(\w+)", done.stdout))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_flag_of_a_command_exists(page):
    for block in blocks(page):
        for line in commands(block) if block.language == "bash" else ():
            name, *arguments = shlex.split(line)
            if name != "keras-bert":
                continue
            subcommand, *arguments = arguments
            assert subcommand in SCRIPTS, line
            for argument in arguments:
                flag = argument.partition("=")[0]
                if flag in _FLAGS_OF_OTHERS:
                    continue
                if flag.startswith("--"):
                    flag = flag.removeprefix("--")
                    known = _flags(subcommand)
                    assert {flag, flag.removeprefix("no")} & known, line


def _messages():
    """Returns the strings of the package; a value in one is an ellipsis."""
    found = []
    for file in (ROOT / "keras_bert").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (getattr(x, "value", "") for x in node.values)
                found.append(
                    "".join(x if isinstance(x, str) else "..." for x in parts)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


def test_every_error_of_troubleshooting_is_in_the_code():
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r'^(?:\| |- \*\*)"(.*?)"[,* ]', page, re.MULTILINE)
    quoted += re.findall(r'^\| "[^|]*?", "(.*?)" ', page, re.MULTILINE)
    assert len(quoted) > 30
    messages = _messages()
    for sentence in quoted:
        if sentence == "requires a different Python":  # of pip
            continue
        for part in sentence.split("..."):
            assert part.strip() in messages, sentence


def test_every_name_of_coming_from_exists():
    page = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8")
    here = re.findall(r"\| ([^|]+) \|$", page, re.MULTILINE)  # the last column
    named = re.findall(r"`(?:keras_bert\.)?([a-z]+)\.(\w+)", "\n".join(here))
    rooms = set(keras_bert.__all__)
    found = [(room, name) for room, name in named if room in rooms]
    assert len(found) > 10
    for room, name in found:
        assert hasattr(getattr(keras_bert, room), name), (room, name)


def test_the_old_package_in_the_same_folder_is_named(tmp_path):
    folder = tmp_path / "keras_bert"
    folder.mkdir()
    for name in ("__init__.py", "registration.py"):
        shutil.copy(ROOT / "keras_bert" / name, folder)
    (folder / "bert.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import keras_bert"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "pip uninstall keras-bert keras-bert-tf" in done.stderr

"""docs/notebooks: they run from top to bottom, and have no outputs in git.

Each also says how to run it on Colab.
"""

import importlib.util
import json
import os
import subprocess
import sys

import pytest
from doc_pages import ROOT

NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def _cells(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_stripped_and_colab_is_explained(notebook):
    assert _cells(notebook)
    assert "On Colab, " in notebook.read_text(encoding="utf-8")
    for cell in _cells(notebook):
        assert cell["outputs"] == [] and cell["execution_count"] is None


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, tmp_path):
    code = "".join("".join(cell["source"]) for cell in _cells(notebook))
    for package in ("transformers", "torch"):
        if f"import {package}" in code and not importlib.util.find_spec(
            package
        ):
            pytest.skip(f"{package} is not installed")
    program = (
        "import nbformat, nbclient, sys\n"
        "notebook = nbformat.read(sys.argv[1], as_version=4)\n"
        "nbclient.NotebookClient(notebook, timeout=600).execute()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, notebook],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr

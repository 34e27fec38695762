"""examples/from_text_to_answer.sh: from a text file to a server's answer."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from script_runs import ROOT, SENTENCES


@pytest.mark.slow
def test_the_example_ends_with_an_answer(tmp_path):
    text, films = tmp_path / "corpus.txt", tmp_path / "SST-2"
    films.mkdir()
    text.write_text("\n".join([*SENTENCES, "", *reversed(SENTENCES), ""] * 20))
    table = "sentence\tlabel\na lovely film\t1\na dull film\t0\n"
    (films / "train.tsv").write_text(table)
    (films / "dev.tsv").write_text(table)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    script = ROOT / "examples" / "from_text_to_answer.sh"
    commands = str(Path(sys.executable).parent)
    done = subprocess.run(
        ["bash", script, text, films, tmp_path / "out", "4", str(port)],
        env=os.environ | {"PATH": commands + os.pathsep + os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r'^{"predictions".*', done.stdout, re.M)
    (answer,) = json.loads(line)["predictions"]
    assert answer["label"] in ("0", "1")
    assert sum(answer["scores"]) == pytest.approx(1)

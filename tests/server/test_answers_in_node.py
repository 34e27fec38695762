"""What the page shows for each form of answer, without a browser."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import keras_bert

PAGE = Path(keras_bert.__file__).parent / "server/page/answers.js"
pytestmark = pytest.mark.skipif(
    not shutil.which("node"), reason="node is not installed"
)
# An element becomes its text; a mark is in brackets, with its class.
_PROGRAM = """
globalThis.document = {
  createElement: (tag) => ({
    tag,
    style: {},
    parts: [],
    append(...parts) { this.parts.push(...parts); },
    toString() {
      const text = this.parts.join("");
      return tag === "mark" ? `[${text}|${this.className}]` : text;
    },
  }),
};
const { showAnswers } = await import(process.argv[1]);
const [answers, values, model] = JSON.parse(process.argv[2]);
console.log(JSON.stringify(showAnswers(answers, values, model).map(String)));
"""
MODEL = {"labels": ["O", "B-PER", "I-PER", "B-LOC"], "mask": "<mask>"}


@pytest.mark.parametrize(
    ("answers", "values", "shown"),
    [
        (
            [{"label": "O", "scores": [0.5, 0.3, 0.1, 0.1], "num_tokens": 4}],
            {"text": "a film"},
            ["O", "O50.0 %B-PER30.0 %I-PER10.0 %B-LOC10.0 %", "Tokens read: 4"],
        ),
        (
            [{"labels": ["O", ""], "scores": [0.5, 0.3, 0.1, 0.1]}],
            {"text": "a film"},
            ["O", "O50.0 %B-PER30.0 %I-PER10.0 %B-LOC10.0 %"],
        ),
        ([{"score": 2.5}], {"text": "a film"}, ["2.500"]),
        (
            [{"choice": 1, "scores": [0.2, 0.8]}],
            {"context": "a", "endings": ["cat", "dog"]},
            ["dog", "cat20.0 %dog80.0 %"],
        ),
        (
            [{"answer": "fox", "best_answer": "fox", "start": 2, "end": 5}],
            {"question": "what", "context": "\U0001f98a fox"},
            ["fox", "\U0001f98a [fox|chosen]"],
        ),
        (
            [
                {
                    "entities.type": ["LOC", ""],
                    "entities.start": [2, 0],
                    "entities.end": [6, 0],
                }
            ],
            {"text": "\U0001f98a Rome"},
            ["[LOC|colour3] 1", "\U0001f98a [RomeLOC|colour3]"],
        ),
        (
            [
                {
                    "masks.pieces": [["film", "dog"], ["", ""]],
                    "masks.probabilities": [[0.75, 0.25], [0, 0]],
                }
            ],
            {"text": "a <mask>!"},
            ["a [film|chosen]!", "Guesses for <mask> 1", "film75.0 %dog25.0 %"],
        ),
        ([{"count": 3}], {"text": "a"}, ['{\n  "count": 3\n}']),
    ],
    ids="label labels number choice span entities guesses json".split(),
)
def test_each_form_of_answer(answers, values, shown, tmp_path):
    module = tmp_path / "answers.mjs"  # so that node takes it for a module
    shutil.copy(PAGE, module)
    arguments = [module.as_uri(), json.dumps([answers, values, MODEL])]
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", _PROGRAM, *arguments],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == shown

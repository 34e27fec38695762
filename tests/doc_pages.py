"""README.md and docs/ -> their blocks of code, and how a test runs them.

A comment in the line before a block says how: `<!-- slow -->`,
`<!-- not run: the reason -->`, or `<!-- file: NAME -->` for a block that the
reader saves as a file.
"""

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# The file of run_scripts that does what a subcommand does.
SCRIPTS = {
    "build-vocab": "build_vocab",
    "convert": "convert_checkpoint",
    "create-pretraining-data": "create_pretraining_data",
    "distill": "distill",
    "embed": "embed",
    "evaluate-retrieval": "evaluate_retrieval",
    "export": "export_model",
    "extend-positions": "extend_positions",
    "extend-vocab": "extend_vocab",
    "finetune": "run_finetuning",
    "keep-layers": "keep_layers",
    "predict": "predict",
    "pretrain": "run_pretraining",
    "serve": "serve",
    "trim-vocab": "trim_vocab",
}
_BLOCK = re.compile(
    r"(?:^<!-- (?P<comment>[^>]*) -->\n)?"
    r"^```(?P<language>python|bash)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
_COMMENTS = re.compile(r"slow|not run: .+|file: \S+|")


@dataclasses.dataclass(frozen=True)
class Block:
    language: str
    code: str
    comment: str
    line: int

    @property
    def is_slow(self):
        return self.comment == "slow"

    @property
    def is_run(self):
        return not self.comment.startswith("not run")

    @property
    def file(self):
        """The name under which the reader saves the block, or an empty one."""
        return self.comment.partition("file: ")[2]


def blocks(page):
    text = page.read_text(encoding="utf-8")
    found = [
        Block(
            match["language"],
            match["code"],
            match["comment"] or "",
            text.count("\n", 0, match.start()) + 1,
        )
        for match in _BLOCK.finditer(text)
    ]
    for block in found:
        assert _COMMENTS.fullmatch(block.comment), f"{page}: {block.comment}"
    return found


def commands(block):
    """Yields the commands of a block of shell, each in one line."""
    waiting = ""
    for line in block.code.splitlines():
        if not waiting and (not line or line.startswith("#")):
            continue
        waiting += line
        if waiting.endswith("\\"):
            waiting = waiting[:-1]
        elif waiting.count('"') % 2:
            waiting += " "
        else:
            yield re.sub(r"\s+# .*", "", waiting)
            waiting = ""
    assert not waiting, waiting

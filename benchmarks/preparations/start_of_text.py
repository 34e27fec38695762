"""Writes the first megabytes of a text in a .gz file.

    python start_of_text.py FILE MEGABYTES FOLDER

Writes FOLDER/text.txt, which ends with a whole line.
"""

import gzip
import sys
from pathlib import Path


def main(file, megabytes, folder):
    with gzip.open(file, "rb") as source:
        content = source.read(int(float(megabytes) * 1e6))
    Path(folder).mkdir()
    end = content.rindex(b"\n") + 1
    Path(folder, "text.txt").write_bytes(content[:end])


if __name__ == "__main__":
    main(*sys.argv[1:])

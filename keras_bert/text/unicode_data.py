"""Characters that `tokenizers` and Python treat differently.

Their Unicode versions differ. Python 3.11 knows Unicode 14; newer releases know
more. `tokenizers` 0.23 splits by Unicode 16 and newer, and normalizes by
Unicode 9 or 8. The tables hold ranges of code points, in hexadecimal.
"""

import functools
import unicodedata

import numpy as np

NUM_CODES = 2**21  # more than there are code points

WHITE_SPACE = "9-d 20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000"

# Letters that are newer than Unicode 14.
LETTERS = """
    1c89-1c8a a7cb-a7cd a7da-a7dc 105c0-105f3 10d4a-10d65 10d6f-10d85
    10ec2-10ec4 1123f-11240 11380-11389 1138b 1138e 11390-113b5 113b7 113d1
    113d3 11bc0-11be0 11f02 11f04-11f10 11f12-11f33 1342f 13441-13446
    13460-143fa 16100-1611d 16d40-16d6c 18cff 1b132 1b155 1df25-1df2a
    1e030-1e06d 1e4d0-1e4eb 1e5d0-1e5ed 1e5f0 2b739 2ebf0-2ee5d 31350-323af
"""

# Numbers that are newer than Unicode 14.
NUMBERS = """
    10d40-10d49 116d0-116e3 11bf0-11bf9 11f50-11f59 16130-16139 16d70-16d79
    1ccf0-1ccf9 1d2c0-1d2d3 1e4f0-1e4f9 1e5f1-1e5fa
"""

# Characters that belong to the grapheme cluster before them, but are not marks
# in Unicode 14.
JOINING = """
    897 cf3 e33 eb3 ece 1acf-1add 1ae0-1aeb 200c-200d ff9e-ff9f 10d69-10d6d
    10efa-10eff 11241 113b8-113c0 113c2 113c5 113c7-113ca 113cc-113d0 113d2
    113e1-113e2 11b60-11b67 11f00-11f01 11f03 11f34-11f3a 11f3e-11f42 11f5a
    13440 13447-13455 1611e-1612f 1e08f 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6
    1e6ee-1e6ef 1e6f5 1f3fb-1f3ff e0020-e007f
"""

# Marks that begin a cluster of their own.
NOT_JOINING = """
    102b-102c 1038 1062-1064 1067-106d 1083 1087-108c 108f 109a-109c 1a61
    1a63-1a64 aa7b aa7d 11720-11721
"""

# Marks, and characters with a decomposition, that are newer than Unicode 9.
NOT_NORMALIZED = """
    7fd 897-89f 8ca-8d3 9fe c3c d3b-d3c eba ece 1715 1abf-1aeb 1df6-1dfa
    32ff a7f2-a7f4 a82c ab69 10781-10785 10787-107b0 107b2-107ba 10d24-10d27
    10d69-10d6d 10eab-10eac 10efa-10eff 10f46-10f50 10f82-10f85 11070 1133b
    113ce-113d0 1145e 11839-1183a 11938 1193d-1193e 11943 119e0 11a34 11a47
    11a99 11d42 11d44-11d45 11d97 11f41-11f42 1612f 16ff0-16ff1 1e030-1e08f
    1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1f16c 1fbf0-1fbf9
"""

# Marks that BERT's normalizer in `tokenizers` does not know.
NEW_MARKS = """
    7fd 898-89f 8ca-8e1 9fe afa-aff b55 c04 c3c d00 d3b-d3c d81 eba 180f
    1885-1886 1abf-1ace 1df6-1dfb a82c a8c5 a8ff a9bd 10d24-10d27
    10eab-10eac 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf
    1123e 1133b 11438-1143f 11442-11444 11446 1145e 1182f-11837 11839-1183a
    1193b-1193c 1193e 11943 119d4-119d7 119da-119db 119e0 11a01-11a0a
    11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96
    11a98-11a99 11c30-11c36 11c38-11c3d 11c3f 11c92-11ca7 11caa-11cb0
    11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47
    11d90-11d91 11d95 11d97 11ef3-11ef4 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46
    1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e130-1e136
    1e2ae 1e2ec-1e2ef 1e944-1e94a
"""

# Punctuation that BERT's steps in `tokenizers` do not know.
NEW_PUNCTUATION = """
    61d 9fd a76 c77 c84 1b7d-1b7e 2e43-2e4f 2e52-2e5d 10ead 10f55-10f59
    10f86-10f89 1144b-1144f 1145a-1145b 1145d 11660-1166c 116b9 1183b
    11944-11946 119e2 11a3f-11a46 11a9a-11a9c 11a9e-11aa2 11c41-11c45
    11c70-11c71 11ef7-11ef8 11fff 12ff1-12ff2 16e97-16e9a 16fe2 1e95e-1e95f
"""

# Format characters that BERT's steps in `tokenizers` do not remove.
NEW_FORMATS = "890-891 8e2 110cd 13430-1345f"

# The characters that BERT's steps in `tokenizers` treat as Chinese.
IDEOGRAPHS = """
    3400-4dbf 4e00-9fff f900-faff 20000-2a6df 2a700-2b81f 2b920-2ceaf
    2f800-2fa1f
"""


@functools.cache
def assigned() -> tuple[int, ...]:
    """Returns the code points of characters that Python knows.

    Private-use characters above 0xFFFF are left out.
    """
    codes = (*range(0x40000), *range(0xE0000, 0xE0200))
    return tuple(x for x in codes if unicodedata.category(chr(x)) != "Cn")


def codes_in(ranges: str) -> list[int]:
    """Returns the code points of ranges such as "41-5a 61"."""
    codes: list[int] = []
    for ends in ranges.split():
        first, _, last = ends.partition("-")
        codes += range(int(first, 16), int(last or first, 16) + 1)
    return codes


def pattern_of(mask: np.ndarray) -> str:
    """Returns a regular expression that matches any one character of a set.

    `mask` [0x110000] is true at the code points of the set.
    """
    changes = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    ranges = (
        rf"\x{{{x:x}}}-\x{{{y - 1:x}}}" for x, y in changes.reshape(-1, 2)
    )
    return f"[{''.join(ranges)}]"

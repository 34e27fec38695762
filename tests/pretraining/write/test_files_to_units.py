import pytest

from keras_bert.pretraining.write.source_to_lines import group_files


def _sizes(folder, sizes, unit_size):
    """Groups files of these sizes; returns the sizes in each unit."""
    files = []
    for i, size in enumerate(sizes):
        files.append(str(folder / str(i)))
        (folder / str(i)).write_bytes(b"x" * size)
    units = group_files(files, unit_size)
    assert [file for unit in units for file in unit] == files
    return [[sizes[files.index(file)] for file in unit] for unit in units]


@pytest.mark.parametrize(
    ("sizes", "units"),
    [
        ([7], [[7]]),
        ([100], [[100]]),
        ([100, 30, 10], [[100], [30], [10]]),
        ([3, 4, 2, 1, 8, 1, 11, 6], [[3, 4, 2, 1], [8, 1, 11], [6]]),
        # A rest of less than half a unit joins the one before.
        ([10, 4], [[10, 4]]),
        ([10, 5], [[10], [5]]),
        ([0, 0], [[0, 0]]),
        ([], []),
    ],
)
def test_small_neighbours_share_a_unit(tmp_path, sizes, units):
    assert _sizes(tmp_path, sizes, 10) == units

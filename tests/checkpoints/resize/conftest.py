"""Text for vocabularies."""

import gzip
import itertools

import pytest


@pytest.fixture(scope="session")
def reviews(shared):
    """Korean film reviews, one a line; a few lines are blank."""
    file = shared / "data/pretrain/movie-reviews.ko.txt.gz"
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return list(itertools.islice(lines, 6000))

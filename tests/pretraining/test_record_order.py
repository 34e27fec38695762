import numpy as np
import pytest

from keras_bert.pretraining import records as module
from keras_bert.pretraining.records import ShuffledOrder


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 5 records and windows of 4 blocks."""
    monkeypatch.setattr(module, "_BLOCK", 5)
    monkeypatch.setattr(module, "_WINDOW", 4)


@pytest.mark.parametrize("size", [1, 5, 7, 20, 23, 100, 103])
def test_each_epoch_has_each_record_once_in_another_order(size, small_blocks):
    records, epochs = ShuffledOrder(size, seed=3)(np.arange(3 * size))
    np.testing.assert_array_equal(epochs, np.arange(3 * size) // size)
    orders = records.reshape(3, size)
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), np.arange(size))
    if size > 7:
        assert not np.array_equal(orders[0], orders[1])


def test_a_position_does_not_depend_on_what_was_asked_before(small_blocks):
    order = ShuffledOrder(103, seed=3)
    whole = np.stack(order(np.arange(3000)))
    for begin in (2900, 0, 990):
        fresh = ShuffledOrder(103, seed=3)
        positions = np.arange(begin, begin + 50)
        part = np.stack(fresh(positions))
        np.testing.assert_array_equal(part, whole[:, positions])


def test_neighbours_in_the_order_are_far_apart_in_the_files():
    """As far as in a full shuffle, where the mean is a third of the size."""
    size = 1_000_000
    records, _ = ShuffledOrder(size, seed=3)(np.arange(size))
    for begin in (0, 500_000, 900_000):
        distance = np.abs(np.diff(records[begin : begin + 50_000])).mean()
        assert distance == pytest.approx(size / 3, rel=0.05)

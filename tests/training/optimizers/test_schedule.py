"""The learning rate of each step."""

import pytest

from keras_bert.training.optimizers.adam import WarmupDecay


@pytest.mark.parametrize(
    ("updates_before", "rate"),
    # The decay counts from the first step: the 10th is not at the peak.
    [(0, 0.001), (3, 0.004), (8, 0.009), (9, 0.009), (54, 0.0045), (99, 0.0)],
)
def test_warm_up_and_decay(updates_before, rate):
    schedule = WarmupDecay(0.01, 100, 10)
    assert float(schedule(updates_before)) == pytest.approx(rate, abs=1e-8)
    assert float(WarmupDecay(0.01, 100, 0)(0)) == pytest.approx(0.0099)


def test_another_power():
    schedule = WarmupDecay(0.01, 100, 10, 0.5)
    assert float(schedule(3)) == pytest.approx(0.004)
    assert float(schedule(63)) == pytest.approx(0.006)
    again = WarmupDecay(**schedule.get_config())
    assert float(again(63)) == float(schedule(63))


@pytest.mark.parametrize(
    ("updates_before", "rate"),
    [(4, 0.005), (9, 0.01), (79, 0.01), (89, 0.005), (94, 0.0025), (99, 0.0)],
)
def test_a_rate_that_is_stable_before_it_decays(updates_before, rate):
    schedule = WarmupDecay(0.01, 100, 10, stable_proportion=0.8)
    again = WarmupDecay(**schedule.get_config())
    for found in schedule, again:
        assert float(found(updates_before)) == pytest.approx(rate, abs=1e-8)

import pytest
from full_disk import full_disk

from keras_bert.training.history import EventFiles, describe_run

ROWS = [
    {
        "step": 1000 * i,
        "loss": 1.0,
        "val_loss": loss,
        "val_masked_lm_accuracy": 0.25 * i,
        "minutes": 12.5 * i,
        "sequences_per_second": 100.0 * i,
        "tokens_per_second": 12_345.0 * i,
        "utilization_of_matmul_speed": 0.25 * i,
    }
    for i, loss in ((1, 6.0), (2, 5.12345), (3, 5.2))
]


def test_the_last_and_the_best_figures():
    assert describe_run(ROWS) == (
        "Trained to step 3000 in 37.5 minutes: 200.0 sequences/s, "
        "24,690 tokens/s, 50.0% of the speed of a matrix product on this "
        "device\n"
        "Held out, last, step 3000: loss 5.2, masked lm accuracy 0.75\n"
        "Held out, best, step 2000: loss 5.123, masked lm accuracy 0.5"
    )


def test_rows_within_an_interval_and_intervals_without_speeds():
    """An interval that SIGTERM ended has no speeds."""
    rows = [{"step": 500, "loss": 2.0}, *ROWS]
    assert describe_run(rows) == describe_run(ROWS)
    row = {"step": 1000, "loss": 1.0, "val_loss": 6.0, "minutes": 12.5}
    assert describe_run([row]).splitlines()[:2] == [
        "Trained to step 1000 in 12.5 minutes",
        "Held out, last, step 1000: loss 6",
    ]


def test_the_best_by_a_metric():
    rows = [
        row | {"val_f1": f1}
        for row, f1 in zip(ROWS, (0.75, 0.5, 0.25), strict=True)
    ]
    best = describe_run(rows, "f1").splitlines()[-1]
    assert best.startswith("Held out, best, step 1000: loss 6, ")


def test_without_a_held_out_loss():
    """A task may be judged by its metrics alone."""
    rows = [{n: v for n, v in row.items() if n != "val_loss"} for row in ROWS]
    assert describe_run(rows).splitlines()[1:] == [
        "Held out, last, step 3000: masked lm accuracy 0.75"
    ]


def test_without_held_out_data():
    rows = [
        {n: v for n, v in row.items() if not n.startswith("val_")}
        for row in ROWS
    ]
    assert describe_run(rows).count("\n") == 0


def test_a_full_disk_is_named(tmp_path):
    rows = [{"step": step, "loss": 0.5} for step in range(50)]
    with (
        pytest.raises(OSError, match="Cannot write .*board .*; free some"),
        full_disk(max_size=300),  # a dozen figures
    ):
        EventFiles(tmp_path / "tensorboard").write(rows)

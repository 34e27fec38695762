"""The largest matrix product: what a network is measured against."""

from contestant import Prepared

from keras_bert.training.matmul_speed import measure_matmul_speed

PACKAGES = ("tensorflow",)


def prepare(options):
    # Its own time means nothing: the result is the speed, in FLOP/s.
    return Prepared(
        lambda case: measure_matmul_speed(options["precision"], "/cpu:0")
    )

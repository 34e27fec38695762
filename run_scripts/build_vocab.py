"""The command `keras-bert build-vocab`."""

from keras_bert.commands.main import main

main("build-vocab")

"""The command `keras-bert extend-vocab`."""

from keras_bert.commands.main import main

main("extend-vocab")

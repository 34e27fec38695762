"""The command `keras-bert extend-positions`."""

from keras_bert.commands.main import main

main("extend-positions")

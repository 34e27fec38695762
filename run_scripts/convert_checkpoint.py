"""The command `keras-bert convert`."""

from keras_bert.commands.main import main

main("convert")

"""The command `keras-bert export`."""

from keras_bert.commands.main import main

main("export")

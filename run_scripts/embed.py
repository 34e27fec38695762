"""The command `keras-bert embed`."""

from keras_bert.commands.main import main

main("embed")

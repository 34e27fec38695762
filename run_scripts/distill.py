"""The command `keras-bert distill`."""

from keras_bert.commands.main import main

main("distill")

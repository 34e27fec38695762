"""The command `keras-bert keep-layers`."""

from keras_bert.commands.main import main

main("keep-layers")

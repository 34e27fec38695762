"""The command `keras-bert trim-vocab`."""

from keras_bert.commands.main import main

main("trim-vocab")

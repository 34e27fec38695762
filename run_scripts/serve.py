"""The command `keras-bert serve`."""

from keras_bert.commands.main import main

main("serve")

"""The command `keras-bert predict`."""

from keras_bert.commands.main import main

main("predict")

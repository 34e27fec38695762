"""The command `keras-bert pretrain`."""

from keras_bert.commands.main import main

main("pretrain")

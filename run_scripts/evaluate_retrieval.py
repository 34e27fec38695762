"""The command `keras-bert evaluate-retrieval`."""

from keras_bert.commands.main import main

main("evaluate-retrieval")

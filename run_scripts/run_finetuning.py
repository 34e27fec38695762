"""The command `keras-bert finetune`."""

from keras_bert.commands.main import main

main("finetune")

"""The command `keras-bert create-pretraining-data`."""

from keras_bert.commands.main import main

if __name__ == "__main__":  # the workers import this file
    main("create-pretraining-data")

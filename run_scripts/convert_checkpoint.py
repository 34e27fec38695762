"""The command `keras-bert convert`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("convert")

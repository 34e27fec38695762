"""The command `keras-bert build-vocab`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("build-vocab")

"""The command `keras-bert trim-vocab`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("trim-vocab")

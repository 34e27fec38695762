"""The command `keras-bert extend-vocab`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("extend-vocab")

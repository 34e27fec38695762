"""The command `keras-bert extend-positions`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("extend-positions")

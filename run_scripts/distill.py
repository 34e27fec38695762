"""The command `keras-bert distill`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("distill")

"""The command `keras-bert export`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("export")

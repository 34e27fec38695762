"""The command `keras-bert embed`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("embed")

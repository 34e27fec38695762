"""The command `keras-bert predict`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("predict")

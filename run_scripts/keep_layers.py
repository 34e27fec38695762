"""The command `keras-bert keep-layers`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("keep-layers")

"""The command `keras-bert pretrain`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("pretrain")

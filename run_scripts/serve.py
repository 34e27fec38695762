"""The command `keras-bert serve`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("serve")

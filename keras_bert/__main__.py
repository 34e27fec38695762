"""Runs the command `keras-bert`, as `python -m keras_bert`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main()

"""`python -m keras_bert` is the command `keras-bert`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main()

"""The command `keras-bert evaluate-retrieval`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("evaluate-retrieval")

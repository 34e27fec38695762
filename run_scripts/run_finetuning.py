"""The command `keras-bert finetune`."""

from keras_bert.commands.main import main

if __name__ == "__main__":
    main("finetune")

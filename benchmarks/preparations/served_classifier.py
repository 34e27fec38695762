"""Exports a fine-tuned model.

python served_classifier.py MODEL_DIR FOLDER
"""

import sys

import keras_bert

if __name__ == "__main__":
    model_dir, folder = sys.argv[1:]
    keras_bert.load_finetuned(model_dir).export(folder)

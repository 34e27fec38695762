"""Writes a checkpoint with a random head, for keras_bert and for peers.

    python classifier.py TASK CHECKPOINT FOLDER

Writes FOLDER/keras_bert, which `load_finetuned` loads, and FOLDER/huggingface.
"""

import sys
from pathlib import Path

import keras

import keras_bert
from keras_bert.checkpoints.load_pretrained import load_config_and_tokenizer
from keras_bert.kinds.spec import build_kind, make_spec


def main(task, checkpoint, folder):
    folder = Path(folder)
    folder.mkdir()
    keras.utils.set_random_seed(1)
    bert_config, tokenizer = load_config_and_tokenizer(checkpoint)
    spec = make_spec(keras_bert.get_task(task), {})
    kind = build_kind(spec, tokenizer, bert_config)
    model = kind.build_model(bert_config)
    keras_bert.load_checkpoint(model, checkpoint)
    # Larger than at the start of training, so that the scores differ.
    kernel = model.get_layer("classifier").kernel
    kernel.assign(20.0 * kernel)
    finetuned = keras_bert.finetuning.FinetunedModel(model, kind, bert_config)
    finetuned.save(folder / "keras_bert")
    keras_bert.convert_checkpoint(
        folder / "keras_bert", folder / "huggingface", "huggingface"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

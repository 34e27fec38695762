"""Records of short sentences, for pre-training runs of a few steps."""

from conftest import write_vocab

from keras_bert.pretraining.write.config import PretrainingDataConfig
from keras_bert.pretraining.write.run import create_pretraining_data
from keras_bert.text.tokenizer import BertTokenizer

# The word after "the" is always the same, so it can be guessed.
LINES = ["the fox jumped over a dog .", "a film is not bad , the fox", ""] * 8


def write_short_records(folder):
    """Writes records of 14 tokens with 3 predictions; returns the file."""
    file = folder / "records.tfrecord"
    create_pretraining_data(
        LINES,
        [file],
        BertTokenizer(write_vocab(folder)),
        PretrainingDataConfig(max_seq_length=14, max_predictions_per_seq=3),
    )
    return str(file)

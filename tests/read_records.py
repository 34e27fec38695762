"""Pre-training records of random numbers; records read as a run reads them."""

import numpy as np

from keras_bert.pretraining.read.files_to_records import PretrainingRecords


def read_records(files, *, batch_size, **kwargs):
    """Returns the batches of a list of files."""
    reading = {
        name: kwargs.pop(name)
        for name in ("share", "shuffle_seed", "first_batch")
        if name in kwargs
    }
    records = PretrainingRecords(files, **kwargs)
    return records.batches(batch_size, **reading)


def random_features(num_records, seq_length, num_predictions):
    """Returns the features of records as arrays, with ids below 200,000."""
    random = np.random.default_rng(3)
    sizes = {
        "input_ids": seq_length,
        "input_mask": seq_length,
        "segment_ids": seq_length,
        "masked_lm_positions": num_predictions,
        "masked_lm_ids": num_predictions,
        "next_sentence_labels": 1,
    }
    features = {
        name: random.integers(0, 200_000, (num_records, size))
        for name, size in sizes.items()
    }
    weights = random.random((num_records, num_predictions), np.float32)
    return features | {"masked_lm_weights": weights}

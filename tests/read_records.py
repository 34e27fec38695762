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
    limits_and_sizes = {
        "input_ids": (200_000, seq_length),
        "input_mask": (200_000, seq_length),
        "segment_ids": (2, seq_length),
        "masked_lm_positions": (seq_length, num_predictions),
        "masked_lm_ids": (200_000, num_predictions),
        "next_sentence_labels": (2, 1),
    }
    features = {
        name: random.integers(0, limit, (num_records, size))
        for name, (limit, size) in limits_and_sizes.items()
    }
    weights = random.random((num_records, num_predictions), np.float32)
    return features | {"masked_lm_weights": weights}

"""Pre-training records, read as a run reads them."""

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

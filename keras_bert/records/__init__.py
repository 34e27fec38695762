"""TFRecord files: any record can be read, in a shuffled order."""

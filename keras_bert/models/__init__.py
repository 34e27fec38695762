"""Functions that make a `keras.Model` of a `BertConfig`."""

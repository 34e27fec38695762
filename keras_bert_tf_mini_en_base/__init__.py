"""The model that `keras_bert.load_pretrained("mini_en_base")` loads."""

"""The model mini_en_base: `keras_bert.load_pretrained("mini_en_base")`."""

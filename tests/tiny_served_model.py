"""Exports a tiny model with random weights."""

from conftest import SPECIAL_TOKENS, WORDS, V, randomize
from kind_examples import make_kind

from keras_bert.config import BertConfig
from keras_bert.serving.export import export_saved_model


def export_tiny_model(folder, kind, **spec):
    """Returns the folder of the SavedModel; it is in the given folder."""
    folder.mkdir(exist_ok=True)
    vocab_file = folder / "vocab.txt"
    vocab_file.write_text("\n".join(SPECIAL_TOKENS + WORDS) + "\n")
    config = BertConfig(
        vocab_size=V,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=20,
        max_position_embeddings=16,
    )
    kind = make_kind(kind, vocab_file, config, **spec)
    model = kind.build_model(config)
    randomize(model)
    export_saved_model(model, kind, folder / "served")
    return folder / "served"

"""Networks that turn texts of similar meaning into similar vectors."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_bert.config import BertConfig
from keras_bert.errors import check_choice
from keras_bert.layers import sequences
from keras_bert.layers.activations import get_activation
from keras_bert.layers.reshaping import UnfoldChoices
from keras_bert.models.encoder import build_encoder
from keras_bert.models.heads import build_output_layer
from keras_bert.models.window_pooling import fold_inputs


def build_embedder(
    config: BertConfig,
    *,
    pooling: str = "mean",
    dense: Sequence[tuple[int, str]] = (),
    normalize: bool = True,
    packed: bool = False,
    window_pooling: str = "none",
) -> keras.Model:
    """Builds the encoder with a pooling of each text's tokens.

    The network is from Reimers and Gurevych 2019, section 3. Inputs: as for
    `build_encoder`, with an axis for the C texts of an example, int32
    [B, C, S]; each text is a sequence of its own. Output: `embeddings`, float32
    [B, C, H]. The weights have the same paths as in the encoder. There is a
    pooler only if the pooling is "pooled". The layers `dense_0`, `dense_1` and
    so on come after the pooling.

    Args:
        config: The config of the encoder.
        pooling: How a text becomes a vector: "mean" or "max" of all tokens,
            [CLS] and [SEP] included; "cls", the vector of [CLS]; or "pooled",
            the output of the pooler.
        dense: The layers after the pooling, each given by its size and its
            activation, such as (256, "tanh"). H is then the size of the last
            layer.
        normalize: Whether all vectors are scaled to the norm 1.
        packed: Whether a row contains K texts. Each input of a packed encoder
            then has one more axis, for the R rows of an example; `pack_choices`
            returns such inputs. The output is [B, R*K, H].
        window_pooling: How the vectors of a text's windows become one vector:
            "mean" or "max". The inputs are then the windows of all texts of an
            example, text after text, int32 [B, M, S], and the number of windows
            of each text, `num_windows`, int32 [B, C]. With "none", a text is
            one sequence.

    Raises:
        InputError: If a pooling is unknown, or if both `packed` and a
            `window_pooling` are given.

    Example:
        >>> config = keras_bert.BertConfig.from_name("bert_tiny")
        >>> model = keras_bert.models.build_embedder(config, pooling="cls")
        >>> ids = np.ones([2, 3, 7], "int32")
        >>> features = {"input_ids": ids, "input_mask": ids}
        >>> model(features | {"segment_ids": ids * 0})["embeddings"].shape
        TensorShape([2, 3, 128])
    """
    # The texts of packed rows have no windows.
    windows = ("none",) if packed else ("none", *sequences.WINDOW_POOLINGS)
    check_choice("pooling", pooling, (*sequences.POOLINGS, "pooled"))
    check_choice("window_pooling", window_pooling, windows)
    encoder = build_encoder(config, packed=packed)
    inputs, rows = fold_inputs(encoder.input)  # [B, R, S], [B*R, S]
    # A model with `sequence_output` alone leaves out the pooler's weights.
    source = "pooled_output" if pooling == "pooled" else "sequence_output"
    x = keras.Model(encoder.input, encoder.output[source])(rows)
    if pooling == "pooled":
        vectors = ops.cast(x, "float32")
    else:
        vectors = sequences.SequencePooling(pooling, name="pooling")(
            x, rows["input_mask"], rows.get("cls_positions")
        )
    if not packed:
        vectors = vectors[:, None]  # [B*R, K, H]
    for i, (size, activation) in enumerate(dense):
        vectors = build_output_layer(
            config, size, f"dense_{i}", get_activation(activation)
        )(vectors)
    if normalize and window_pooling == "none":
        vectors = ops.normalize(vectors)
    # Without this dtype, mixed precision would cast the vectors back.
    embeddings = UnfoldChoices(dtype="float32", name="embeddings")(
        vectors, inputs["input_ids"]
    )
    if window_pooling != "none":
        num_windows = keras.Input((None,), dtype="int32", name="num_windows")
        numbers = sequences.WindowNumbers(name="window_numbers")(
            num_windows, inputs["input_ids"]
        )
        embeddings = sequences.SequencePooling(
            window_pooling, dtype="float32", name="window_pooling"
        )(embeddings, numbers, num_windows)  # [B, M, H] -> [B, C, H]
        inputs = {**inputs, "num_windows": num_windows}
        if normalize:
            embeddings = ops.normalize(embeddings)
    return keras.Model(inputs, {"embeddings": embeddings}, name="bert_embedder")

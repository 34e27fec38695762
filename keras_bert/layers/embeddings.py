"""The embeddings: words, positions and segments."""

from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from keras_bert.layers.backend import known_values
from keras_bert.layers.dense import build_layer_norm
from keras_bert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="keras_bert")
class BertEmbeddings(keras.layers.Layer):
    """The sum of word, position and segment embeddings, normalized.

    Takes `input_ids`, `segment_ids` and `position_ids`, all int [B, S]. By
    default, positions count from 0 in each row. Returns the embeddings
    [B, S, H] and the word embeddings [V, H]. The word embeddings are an output
    because the masked-LM head shares them (paper, 3.1): if they are shared
    within the graph, they are still shared after saving and loading.

    With a `type_vocab_size` of 0, the sum has no segment embeddings; without
    `has_positions`, it has no position embeddings. If `first_position` is above
    0 (RoBERTa), tokens with the id `first_position - 1` are padding, and
    positions count the other tokens only.

    `family_fields` are the fields of the network's `BertConfig` that differ
    from BERT's. `config_of_network` reads them from the layer.

    Example:
        >>> layer = keras_bert.layers.BertEmbeddings(31, hidden_size=12)
        >>> ids = np.ones([2, 5], "int32")
        >>> x, table = layer(ids, ids * 0)
        >>> x.shape, table.shape
        (TensorShape([2, 5, 12]), TensorShape([31, 12]))
    """

    def __init__(
        self,
        vocab_size: int,
        hidden_size: int,
        max_position_embeddings: int = 512,
        type_vocab_size: int = 2,
        dropout_rate: float = 0.1,
        initializer_range: float = 0.02,
        layer_norm_eps: float = 1e-12,
        first_position: int = 0,
        has_positions: bool = True,
        norm_bias: bool = True,
        family_fields: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.first_position = first_position
        self.has_positions = has_positions
        self.biases = "norm" if norm_bias else ""
        self.family_fields = family_fields
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.max_position_embeddings = max_position_embeddings
        self.type_vocab_size = type_vocab_size
        self.initializer_range = initializer_range
        self.layer_norm_eps = layer_norm_eps
        self.dropout = Dropout(
            dropout_rate, dtype=self.dtype_policy, name="dropout"
        )

    def build(
        self,
        input_ids_shape: Any,
        segment_ids_shape: Any,
        position_ids_shape: Any = None,
    ) -> None:
        self.word_embeddings = self._add_table(
            "word_embeddings", self.vocab_size
        )
        if self.has_positions:
            self.position_embeddings = self._add_table(
                "position_embeddings",
                self.first_position + self.max_position_embeddings,
            )
        if self.type_vocab_size:
            self.segment_embeddings = self._add_table(
                "segment_embeddings", self.type_vocab_size
            )
        self.layer_norm = build_layer_norm(self, "layer_norm", self.hidden_size)

    def _add_table(self, name: str, num_rows: Any) -> Any:
        return self.add_weight(
            name=name,
            shape=(num_rows, self.hidden_size),
            initializer=keras.initializers.TruncatedNormal(
                stddev=self.initializer_range
            ),
            # In mixed precision, `call` casts the rows after the look-up
            # instead of the whole table before it.
            autocast=False,
        )

    def call(
        self, input_ids: Any, segment_ids: Any, position_ids: Any = None
    ) -> Any:
        length, most = input_ids.shape[1], self.max_position_embeddings
        if position_ids is None and (length or 0) > most:
            raise ValueError(
                f"A sequence of {length} tokens was given, but the network has "
                f"{most} positions; give shorter sequences."
            )
        word_embeddings = ops.convert_to_tensor(self.word_embeddings)  # [V, H]
        x = _rows(word_embeddings, input_ids, "input_ids")  # [B, S, H]
        if self.type_vocab_size:
            x += _rows(self.segment_embeddings, segment_ids, "segment_ids")
        if self.has_positions:
            x += self._positions(input_ids, position_ids)
        x = self.dropout(self.layer_norm(ops.cast(x, self.compute_dtype)))
        return x, word_embeddings

    def _positions(self, input_ids: Any, position_ids: Any) -> Any:
        """Returns position embeddings [S, H] or [B, S, H]."""
        if position_ids is None and not self.first_position:
            return self.position_embeddings[: ops.shape(input_ids)[1]]
        if position_ids is None:
            is_token = ops.cast(input_ids != self.first_position - 1, "int32")
            rows = ops.cumsum(is_token, axis=1) * is_token
            rows += self.first_position - 1
        else:
            rows = position_ids + self.first_position
        table = ops.convert_to_tensor(self.position_embeddings)
        return ops.take(table, rows, axis=0)

    def compute_output_spec(
        self, input_ids: Any, segment_ids: Any, position_ids: Any = None
    ) -> Any:
        shape = (*input_ids.shape, self.hidden_size)
        table_shape = (self.vocab_size, self.hidden_size)
        return (
            keras.KerasTensor(shape, self.compute_dtype),
            keras.KerasTensor(table_shape, self.variable_dtype),
        )


def _rows(table: Any, ids: Any, name: str) -> Any:
    """Returns a table's rows by id; a negative id does not count from the end.

    Outside of a graph, an id that is not in the table raises ValueError.
    """
    num_rows = table.shape[0]
    known = known_values(ids)  # in a graph, TensorFlow raises its own error
    wrong = known[(known < 0) | (known >= num_rows)]
    if wrong.size:
        raise ValueError(
            f"{name} contains {wrong[0]}, but must be from 0 to "
            f"{num_rows - 1}; give the ids of this network's tokenizer."
        )
    ids = ops.where(ids < 0, num_rows, ids)
    return ops.take(ops.convert_to_tensor(table), ids, axis=0)

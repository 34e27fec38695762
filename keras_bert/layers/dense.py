"""The parts of a layer: dense layers and layer norms, as BERT has them."""

from typing import Any

import keras
from keras import ops

from keras_bert.layers.activations import for_training, get_activation


class _Dense(keras.layers.Dense):
    """A dense layer that computes differently from Keras' layer in training.

    In inference, Keras' own code is faster. In training, the gradient of the
    bias is summed in float32, whatever the precision. Keras' layer adds the
    bias with TensorFlow's bias_add, whose gradient on a CPU is summed in the
    dtype of the input: in bfloat16, a sum of ones never exceeds 256. For the
    activation, see `for_training`.

    With `enable_lora`, Keras adds the product of the adapter's matrices to the
    kernel. In training, this layer multiplies the input by the kernel and by
    the adapter separately: the kernel then needs no gradient, and in bfloat16 a
    small product would be lost in the sum.
    """

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if not training:
            return super().call(inputs, training=training)
        if self.lora_enabled:
            x = ops.matmul(inputs, self.lora_kernel_a)
            x = ops.matmul(x, self.lora_kernel_b)
            x = x * (self.lora_alpha / self.lora_rank)
            x = ops.matmul(inputs, self._kernel) + x
        else:
            x = ops.matmul(inputs, self.kernel)
        if self.bias is None:
            pass
        elif self.compute_dtype == self.variable_dtype:
            x = ops.add(x, self.bias)  # bias_add
        else:
            x = x + self.bias[None]
        return for_training(self.activation)(x)

    def load_own_variables(self, store: Any) -> None:
        # The parent always builds this layer with a float kernel, but the file
        # may have the int8 kernel of a model after `keras.Model.quantize`.
        if store["0"].dtype == "int8" and not self.quantization_mode:
            self.quantize("int8")
        super().load_own_variables(store)

    def quantize(
        self, mode: Any = None, type_check: Any = True, config: Any = None
    ) -> None:
        # By default, Keras refuses to quantize a subclass of its Dense layer.
        super().quantize(mode, type_check=False, config=config)


def build_dense(
    parent: keras.layers.Layer,
    name: str,
    input_size: int,
    units: int,
    activation: str = "linear",
    use_bias: bool = True,
) -> keras.layers.Dense:
    """Returns a dense layer in a parent: [T, input_size] -> [T, units].

    `activation` is a name that `get_activation` knows.

    The initial kernel is truncated normal with the standard deviation
    `initializer_range` of the parent, and the initial bias is zero. The layer
    has the parent's dtypes. The layer is frozen if the parent is frozen: Keras
    freezes only those inner layers that exist when the parent is frozen.
    """
    layer = _Dense(
        units,
        activation=get_activation(activation),
        use_bias=use_bias,
        kernel_initializer=keras.initializers.TruncatedNormal(
            stddev=parent.initializer_range
        ),
        dtype=parent.dtype_policy,
        trainable=parent.trainable,
        name=name,
    )
    layer.build((None, input_size))
    return layer


def build_layer_norm(
    parent: keras.layers.Layer, name: str, size: int
) -> keras.layers.LayerNormalization:
    """Returns a layer norm for [..., size], with the parent's epsilon.

    The norm has a bias if the parent's `biases` contain "norm".
    """
    layer = keras.layers.LayerNormalization(
        epsilon=parent.layer_norm_eps,
        center="norm" in parent.biases.split(),
        dtype=parent.dtype_policy,
        trainable=parent.trainable,
        name=name,
    )
    layer.build((None, size))
    return layer

"""Renames the weights of a network of two layers as other packages do.

It does not use the tables of keras_bert/checkpoints, because it judges them.
"""

import numpy as np
import tensorflow as tf


def google(ours):
    """Returns the weights under the names of google-research/bert."""
    theirs = {
        "bert/embeddings/word_embeddings": "embeddings/word_embeddings",
        "bert/embeddings/position_embeddings": "embeddings/position_embeddings",
        "bert/embeddings/token_type_embeddings": (
            "embeddings/segment_embeddings"
        ),
        "cls/predictions/output_bias": "masked_lm/output_bias",
    }
    norms = {
        "bert/embeddings/LayerNorm": "embeddings/layer_norm",
        "cls/predictions/transform/LayerNorm": "masked_lm/layer_norm",
    }
    dense = {
        "bert/pooler/dense": "pooler/dense",
        "cls/predictions/transform/dense": "masked_lm/transform",
    }
    for i in range(2):
        there, here = f"bert/encoder/layer_{i}/", f"layer_{i}/"
        for name in ("query", "key", "value"):
            dense[f"{there}attention/self/{name}"] = f"{here}attention/{name}"
        dense[f"{there}attention/output/dense"] = f"{here}attention/output"
        dense[f"{there}intermediate/dense"] = f"{here}intermediate"
        dense[f"{there}output/dense"] = f"{here}output"
        norms[f"{there}attention/output/LayerNorm"] = (
            f"{here}attention_layer_norm"
        )
        norms[f"{there}output/LayerNorm"] = f"{here}output_layer_norm"
    for there, here in dense.items():
        theirs |= {f"{there}/{w}": f"{here}/{w}" for w in ("kernel", "bias")}
    for there, here in norms.items():
        theirs |= {f"{there}/{w}": f"{here}/{w}" for w in ("gamma", "beta")}
    arrays = {there: ours[here] for there, here in theirs.items()}
    arrays["cls/seq_relationship/output_weights"] = ours[
        "next_sentence/dense/kernel"
    ].T
    arrays["cls/seq_relationship/output_bias"] = ours[
        "next_sentence/dense/bias"
    ]
    assert len(arrays) == len(ours)
    return arrays


def write_tf1(prefix, arrays):
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(array) for array in arrays.values()],
    )


def hugging_face(google):
    """Maps Google's names to those of transformers and transposes kernels."""
    arrays = {}
    for name, array in google.items():
        words = name.split("/")
        if words[-1] == "kernel" and "embeddings" not in words:
            words[-1], array = "weight", array.T
        words = [
            {"gamma": "weight", "beta": "bias"}.get(word, word)
            for word in words
        ]
        name = ".".join(words).replace("layer_", "layer.")
        name = name.replace("seq_relationship.output_", "seq_relationship.")
        name = name.replace(
            "seq_relationship.weights", "seq_relationship.weight"
        )
        name = name.replace("predictions.output_bias", "predictions.bias")
        if name.endswith("_embeddings"):
            name += ".weight"
        arrays[name] = np.ascontiguousarray(array)
    return arrays


def model_garden(ours, num_heads):
    """Returns the weights with the names and shapes of official/nlp."""
    arrays = {
        "word_embeddings/embeddings": ours["embeddings/word_embeddings"],
        "position_embedding/embeddings": ours["embeddings/position_embeddings"],
        "type_embeddings/embeddings": ours["embeddings/segment_embeddings"],
        "cls/predictions/output_bias/bias": ours["masked_lm/output_bias"],
    }
    modules = {
        "embeddings/layer_norm": "embeddings/layer_norm",
        "pooler_transform": "pooler/dense",
        "cls/predictions/transform/dense": "masked_lm/transform",
        "cls/predictions/transform/LayerNorm": "masked_lm/layer_norm",
        "predictions/transform/logits": "next_sentence/dense",
    }
    for i in range(2):
        there, here = f"transformer/layer_{i}/", f"layer_{i}/"
        for name in ("query", "key", "value"):
            modules[f"{there}self_attention/{name}"] = f"{here}attention/{name}"
        modules |= {
            f"{there}self_attention/attention_output": (
                f"{here}attention/output"
            ),
            f"{there}self_attention_layer_norm": f"{here}attention_layer_norm",
            f"{there}intermediate": f"{here}intermediate",
            f"{there}output": f"{here}output",
            f"{there}output_layer_norm": f"{here}output_layer_norm",
        }
    for there, here in modules.items():
        for weight in ("kernel", "bias", "gamma", "beta"):
            if f"{here}/{weight}" in ours:
                arrays[f"{there}/{weight}"] = ours[f"{here}/{weight}"]
    assert len(arrays) == len(ours)
    for name, array in arrays.items():
        *inputs, outputs = array.shape
        if "/self_attention/attention_output/kernel" in name:
            arrays[name] = array.reshape(num_heads, -1, outputs)
        elif "/self_attention/" in name and "_output" not in name:
            arrays[name] = array.reshape(*inputs, num_heads, -1)
    return arrays

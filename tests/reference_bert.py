"""The forward pass of BERT in plain NumPy, to judge keras_bert.

It follows the paper and google-research/bert, in float64, one position at a
time where that is simpler. `weights` maps the path of a weight to its array.
"""

import math

import numpy as np

_erf = np.vectorize(math.erf)


def bert(weights, config, features):
    """Returns all hidden states, the outputs and the logits of both heads."""
    weights = {k: np.asarray(v, np.float64) for k, v in weights.items()}
    input_ids = features["input_ids"]
    num_tokens = input_ids.shape[1]

    x = weights["embeddings/word_embeddings"][input_ids]
    x = x + weights["embeddings/position_embeddings"][np.arange(num_tokens)]
    x = x + weights["embeddings/segment_embeddings"][features["segment_ids"]]
    x = _layer_norm(weights, "embeddings/layer_norm", x, config)

    outputs = {"embedding_output": x}
    for i in range(config.num_hidden_layers):
        name = f"layer_{i}"
        attended = _attention(
            weights, f"{name}/attention", x, features["input_mask"], config
        )
        x = x + attended
        x = _layer_norm(weights, f"{name}/attention_layer_norm", x, config)
        hidden = _dense(weights, f"{name}/intermediate", x)
        hidden = _activation(config.hidden_act, hidden)
        x = x + _dense(weights, f"{name}/output", hidden)
        x = _layer_norm(weights, f"{name}/output_layer_norm", x, config)
        outputs[f"layer_{i}_output"] = x

    outputs["sequence_output"] = x
    token = x[:, 0]
    if config.directionality == "left_to_right":
        # The first token sees only itself; the last token sees the whole text.
        lengths = features["input_mask"].sum(1)
        token = x[np.arange(len(x)), lengths - 1]
    pooled = np.tanh(_dense(weights, "pooler/dense", token))
    outputs["pooled_output"] = pooled
    if "masked_lm/output_bias" in weights:
        outputs["next_sentence"] = _dense(
            weights, "next_sentence/dense", pooled
        )
        outputs["masked_lm"] = _masked_lm(
            weights, x, features["masked_lm_positions"], config
        )
    return outputs


def _masked_lm(weights, x, positions, config):
    rows = []
    for sequence, row in zip(x, positions, strict=True):
        rows.append([sequence[position] for position in row])
    hidden = _dense(weights, "masked_lm/transform", np.array(rows))
    hidden = _activation(config.hidden_act, hidden)
    hidden = _layer_norm(weights, "masked_lm/layer_norm", hidden, config)
    table = weights["embeddings/word_embeddings"]
    return hidden @ table.T + weights["masked_lm/output_bias"]


def _attention(weights, name, x, input_mask, config):
    query = _dense(weights, f"{name}/query", x)
    key = _dense(weights, f"{name}/key", x)
    value = _dense(weights, f"{name}/value", x)
    head_size = config.hidden_size // config.num_attention_heads
    context = np.zeros_like(x)
    for b in range(x.shape[0]):
        for n in range(config.num_attention_heads):
            head = slice(n * head_size, (n + 1) * head_size)
            for s in range(x.shape[1]):
                scores = key[b, :, head] @ query[b, s, head]
                scores = scores / math.sqrt(head_size)
                for t in range(x.shape[1]):
                    later = config.directionality == "left_to_right" and t > s
                    if later or not input_mask[b, t]:
                        scores[t] -= 10000.0
                probs = np.exp(scores - scores.max())
                probs = probs / probs.sum()
                context[b, s, head] = probs @ value[b, :, head]
    return _dense(weights, f"{name}/output", context)


def _dense(weights, name, x):
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def _layer_norm(weights, name, x, config):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    x = (x - mean) / np.sqrt(variance + config.layer_norm_eps)
    return x * weights[f"{name}/gamma"] + weights[f"{name}/beta"]


def _activation(name, x):
    if name == "gelu":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return 0.5 * x * (1 + np.tanh(inner))
    if name == "gelu_erf":
        return 0.5 * x * (1 + _erf(x / math.sqrt(2)))
    raise NotImplementedError(name)

"""A pre-trained checkpoint -> a SavedModel that takes raw strings."""

import dataclasses
from pathlib import Path

import keras
import tensorflow as tf
from keras import ops

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load_pretrained import load_pretrained
from keras_bert.errors import InputError
from keras_bert.export.config import PretrainedExportConfig
from keras_bert.export.mask_filler import load_mask_filler
from keras_bert.export.model_card import model_card, network_section
from keras_bert.export.saved_model import export_saved_model
from keras_bert.kinds.network_calls import call_on_texts
from keras_bert.kinds.signatures import Signature, id_signature, one_graph
from keras_bert.kinds.spec import find_spec, has_spec
from keras_bert.layers.sequences import SequencePooling
from keras_bert.text.packing import BertPreprocessor
from keras_bert.text.tokenizer import PortableTokenizer

_TEXT = tf.TensorSpec([None], tf.string, "text")


def export_pretrained(
    checkpoint: str | Path,
    export_dir: str | Path,
    config: PretrainedExportConfig | None = None,
    *,
    portable: bool = False,
) -> Path:
    """Writes the next version of an encoder, such as `served/1`.

    The following signatures take `text`, strings [B]. All of them return
    `truncated` and `num_tokens`. They also return:

    - serving_default: `embedding`, float32 [B, H].
    - embed: `mean`, `cls` and, if the checkpoint has a pooler, `pooled`,
      float32 [B, H].
    - fill_mask: `masks.pieces` and `masks.probabilities` [B, M, 5], the best
      word pieces for each [MASK], padded with "" and 0. This signature exists
      only if the checkpoint has a masked-LM head.

    `serve_ids` takes `input_ids`, `input_mask` and `segment_ids`, and returns
    the outputs of the encoder. `export_saved_model` describes the files.

    Args:
        checkpoint: Anything that `load_checkpoint` takes, with its config and
            vocabulary in the same folder.
        export_dir: The folder of all versions of the model.
        config: The pooling, normalization and maximum sequence length.
        portable: Whether the model loads without tensorflow-text; see
            `ExportConfig`.

    Returns:
        The folder of the new version.

    Raises:
        FileNotFoundError: If the checkpoint, config or vocabulary is missing.
        InputError: If `pooling` is `pooled`, but the checkpoint has no pooler,
            if the network has fewer positions than `max_seq_length`, or if the
            checkpoint is a model of the kind `embedding`.

    Example:
        >>> version = keras_bert.export.export_pretrained(
        ...     "pretrained",
        ...     "encoder",
        ...     keras_bert.export.PretrainedExportConfig(max_seq_length=16),
        ... )
        >>> model = keras_bert.ServedModel(version)
        >>> (answer,) = model.answer([{"text": "a good film"}])
        >>> len(answer["embedding"]), answer["num_tokens"]
        (12, 5)
    """
    config = PretrainedExportConfig.checked(config)
    source = Checkpoint.of(checkpoint)
    spec = find_spec(source, source.config) if has_spec(source) else None
    if spec and spec.kind == "embedding":
        raise InputError(
            f"{source.folder} is a model of the kind embedding; export it with "
            "load_finetuned(folder).export(export_dir)."
        )
    has_pooler = "pooler" in source.heads
    if config.pooling == "pooled" and not has_pooler:
        raise InputError(
            f"{checkpoint} has no pooler, so there is no vector 'pooled'; "
            "choose mean or cls."
        )
    loaded = load_pretrained(source, max_seq_length=config.max_seq_length)
    encoder, bert_config = loaded.encoder, loaded.config
    preprocessor = loaded.preprocessor
    if portable:
        tokenizer = PortableTokenizer.of(loaded.tokenizer)
        preprocessor = dataclasses.replace(preprocessor, tokenizer=tokenizer)
    length = preprocessor.max_seq_length
    vectors = _build_vectors(encoder, has_pooler, config.normalize)
    tracked = [encoder, vectors, preprocessor]
    signatures = {
        **_embed_signatures(vectors, preprocessor, config.pooling),
        "serve_ids": id_signature(encoder),
    }
    if "masked_lm" in source.heads:
        filler = load_mask_filler(source, max_seq_length=length)
        filler.tokenizer = preprocessor.tokenizer
        tracked.append(filler.model)
        signatures["fill_mask"] = Signature(filler.__call__, [_TEXT])
    sidecars = loaded.tokenizer.sidecars(bert_config.max_position_embeddings)
    return export_saved_model(
        export_dir,
        signatures,
        tracked=tracked,
        description={
            "kind": "encoder",
            "labels": (),
            "text_fields": ("text",),
            "max_seq_length": length,
            "mask": loaded.tokenizer.special_tokens.mask,
        },
        assets={**sidecars, "bert_config.json": bert_config.to_json()},
        model_card=model_card(
            export_dir,
            "feature-extraction",
            {
                "Answers": {
                    "embedding": f"{bert_config.hidden_size} numbers",
                    "pooling": config.pooling,
                    "normalize": config.normalize,
                    "checkpoint": Path(str(checkpoint)).name,
                },
                "Network": network_section(
                    encoder, bert_config, loaded.tokenizer, length
                ),
            },
            {"checkpoint": checkpoint},
        ),
    )


def _embed_signatures(
    vectors: keras.Model, preprocessor: BertPreprocessor, pooling: str
) -> dict[str, Signature]:
    call = call_on_texts(vectors)

    def embed(text: tf.Tensor) -> dict[str, tf.Tensor]:
        packed = preprocessor.pack(text)
        return call(packed.features) | packed.truncation_info()

    embed = one_graph(embed, [_TEXT])

    def answer(text: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = embed(text)
        truncation_info = {x: outputs[x] for x in ("truncated", "num_tokens")}
        return {"embedding": outputs[pooling]} | truncation_info

    return {
        "serving_default": Signature(answer, [_TEXT]),
        "embed": Signature(embed, [_TEXT]),
    }


def _build_vectors(
    encoder: keras.Model, has_pooler: bool, normalize: bool
) -> keras.Model:
    """Returns a network with one output for each pooling.

    For R rows with K texts in each, all outputs are float32 [R, K, H].
    """
    tokens = encoder.output["sequence_output"]
    input_mask = encoder.input["input_mask"]
    cls_positions = ops.zeros_like(input_mask[:, :1])
    vectors = {}
    for name in ("mean", "cls"):
        pooling = SequencePooling(name, name=f"{name}_pooling")
        vectors[name] = pooling(tokens, input_mask, cls_positions)
    if has_pooler:
        pooled = encoder.output["pooled_output"]
        vectors["pooled"] = ops.cast(pooled, "float32")
    if normalize:
        vectors = {name: ops.normalize(x) for name, x in vectors.items()}
    return keras.Model(encoder.input, vectors, name="vectors")

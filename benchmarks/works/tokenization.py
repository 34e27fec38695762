"""Strings to the ids of word pieces."""

from comparison.work import Contestant, Preparation, Target, Work

_CASES = {
    "novels, uncased": {"lines": "novels", "vocab": "uncased"},
    "Korean, cased": {"lines": "korean", "vocab": "multilingual-cased"},
    "Korean, uncased": {"lines": "korean", "vocab": "uncased"},
    "mixed, cased": {"lines": "mixed", "vocab": "multilingual-cased"},
    "mixed, uncased": {"lines": "mixed", "vocab": "uncased"},
}
_PEER = "tokenizers (Rust)"


def works(setup):
    options = {
        "lines": setup.folder("lines"),
        "vocabularies": setup.data("data/vocab"),
    }

    def contestant(name, environment, file, **more):
        file = f"tokenization/{file}"
        return Contestant(name, environment, file, options | more, ("lines",))

    return [
        Work(
            name="tokenization",
            title="Tokenizing 20,000 sentences",
            note="`mixed` are 4,000 paragraphs in Arabic, German, Thai and "
            "Chinese. One call of ours uses one thread, the others use all. "
            "The difference is the number of lines whose ids differ.",
            cases=_CASES,
            contestants=(
                contestant(
                    "keras_bert, one call",
                    "keras_bert",
                    "keras_bert.py",
                    pipeline=False,
                ),
                contestant(
                    "keras_bert, tf.data",
                    "keras_bert",
                    "keras_bert.py",
                    pipeline=True,
                ),
                contestant(_PEER, "torch", "tokenizers.py"),
            ),
            targets=(Target("novels, uncased", _PEER, 3.0),),
            unit="pass",
            max_seconds=15,
            min_seconds=0.3,
            needs_data=True,
        )
    ]


def preparations(setup):
    return {
        "lines": Preparation("keras_bert", "text_lines.py", (setup.data(""),))
    }

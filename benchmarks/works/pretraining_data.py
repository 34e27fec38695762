"""Text to pre-training records."""

from comparison.work import Contestant, Preparation, Target, Work

_CASE = "dupe factor 10"
_PEER = "google-research/bert"


def works(setup):
    options = {
        "text": f"{setup.folder('text')}/text.txt",
        "vocab_file": setup.data("data/vocab/bert-base-uncased.vocab.txt"),
    }

    def contestant(name, environment, file):
        file = f"pretraining_data/{file}"
        return Contestant(name, environment, file, options, ("text",))

    return [
        Work(
            name="pretraining_data",
            title="Pre-training data",
            note=f"{_megabytes(setup)} MB of novels; seconds of one core, "
            "without imports. The first round is timed too. The difference "
            "compares the numbers of instances, which are random.",
            cases={_CASE: {"dupe_factor": 10}},
            contestants=(
                contestant("keras_bert", "keras_bert", "keras_bert.py"),
                contestant(_PEER, "tensorflow", "google_bert.py"),
            ),
            targets=(Target(_CASE, _PEER, 14.0),),
            unit="pass",
            rounds=2,
            untimed_rounds=0,
            clock="cpu",
            needs_data=True,
        )
    ]


def preparations(setup):
    novels = setup.data("data/pretrain/novels.en.txt.gz")
    return {
        "text": Preparation(
            "keras_bert", "start_of_text.py", (novels, _megabytes(setup))
        )
    }


def _megabytes(setup):
    # keras_bert needs a second before it writes the first record. With a small
    # text, this second would decide the ratio.
    return "0.2" if setup.is_quick else "24"

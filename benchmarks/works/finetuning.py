"""An epoch of fine-tuning, each project with its own defaults."""

from comparison.work import Contestant, Preparation, Target, Work

_CHECKPOINT = "data/checkpoints/all-MiniLM-L6-v2"
# Name -> title, and folder of the data.
_TASKS = {
    "mrpc": ("MRPC", "data/glue/MRPC"),
    "sst2": ("SST-2", "data/glue/SST-2"),
}
_CASE = "an epoch"
# How transformers pads -> what we want to reach beside it.
_PEERS = {
    "max_length": ("transformers, padded to 128", 3.0),
    "longest": ("transformers, padded to the longest", 1.5),
}


def works(setup):
    return [_work(setup, name) for name in _TASKS]


def preparations(setup):
    return {
        name: Preparation(
            "keras_bert", "task_rows.py", (f"glue/{name}", setup.data(folder))
        )
        for name, (_, folder) in _TASKS.items()
    }


def _work(setup, name):
    title, folder = _TASKS[name]
    num_batches = 2 if setup.is_quick else 10
    options = {
        "checkpoint": setup.data(_CHECKPOINT),
        "num_batches": num_batches,
    }
    return Work(
        name=f"finetuning_{name}",
        title=f"Fine-tuning MiniLM on {title}",
        note=f"Batches of 32, at most 128 tokens, float32. {num_batches} "
        "batches, whose sizes are spread like the sizes of all batches, stand "
        "for the whole epoch. Our batches have texts of similar length; "
        "transformers pads to 128 tokens, as its example run_glue.py does, or "
        "to the longest text of each batch.",
        cases={_CASE: {}},
        contestants=(
            Contestant(
                "keras_bert",
                "keras_bert",
                "finetuning/keras_bert.py",
                options
                | {"task": f"glue/{name}", "data_dir": setup.data(folder)},
            ),
            *(
                Contestant(
                    peer,
                    "torch",
                    "finetuning/transformers.py",
                    options
                    | {
                        "rows": f"{setup.folder(name)}/train.jsonl",
                        "padding": padding,
                    },
                    needs=(name,),
                )
                for padding, (peer, _) in _PEERS.items()
            ),
        ),
        targets=tuple(Target(_CASE, *peer) for peer in _PEERS.values()),
        unit="epoch",
        rounds=5,
        needs_data=True,
    )

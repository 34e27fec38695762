"""A span kind with short windows, rows for it, and logits that answer them."""

import dataclasses

import numpy as np
from kind_examples import make_spec

from keras_bert.kinds.registry import get_kind
from keras_bert.text.tokenizer import BertTokenizer


def span_spec(**changes):
    settings = {
        "max_seq_length": 14,
        "doc_stride": 3,
        "max_query_length": 4,
        "max_answer_length": 5,
        "n_best_size": 6,
        **changes,
    }
    return make_spec("span", **settings)


def span_kind(vocab_file, *, do_lower_case=True, **changes):
    tokenizer = BertTokenizer(vocab_file, do_lower_case)
    return get_kind("span")(span_spec(**changes), tokenizer)


def change_settings(kind, **changes):
    """Changes settings that only decoding reads."""
    settings = dataclasses.replace(kind.spec.settings, **changes)
    kind.spec = dataclasses.replace(kind.spec, settings=settings)


def span_row(context, *answers, question="the fox", **fields):
    label = [{"text": t, "answer_start": context.find(t)} for t in answers]
    return {"question": question, "context": context, "label": label, **fields}


def window_logits(examples, starts, ends, null=-5.0):
    """Returns logits of -9, but 5 at each window's start and end.

    Position 0 gets `null`; a start or end of 0 means no answer.
    """
    outputs = {"start_logits": starts, "end_logits": ends}
    for name, positions in outputs.items():
        outputs[name] = []
        for length, position in zip(examples.lengths, positions, strict=True):
            logits = np.full(length, -9.0, "float32")
            logits[0] = null
            if position > 0:
                logits[position] = 5.0
            outputs[name].append(logits)
    return outputs


def gold_logits(examples):
    return window_logits(
        examples, *(x.numpy() for x in examples.labels.values())
    )

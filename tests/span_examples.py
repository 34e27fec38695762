"""A span head for short windows, rows for it, and logits that answer them."""

import numpy as np

from keras_bert.kinds.span.kind import SpanHead
from keras_bert.kinds.spec import TaskSpec
from keras_bert.text.tokenizer import BertTokenizer


def span_spec(**changes):
    values = {
        "head": "span",
        "labels": (),
        "text_fields": ("question", "context"),
        "max_seq_length": 14,
        "do_lower_case": True,
        "doc_stride": 3,
        "max_query_length": 4,
        "max_answer_length": 5,
        "n_best_size": 6,
        **changes,
    }
    return TaskSpec(**values)


def span_head(vocab_file, **changes):
    spec = span_spec(**changes)
    return SpanHead(spec, BertTokenizer(vocab_file, spec.do_lower_case))


def span_row(context, *answers, question="the fox", **fields):
    label = [{"text": t, "answer_start": context.find(t)} for t in answers]
    return {"question": question, "context": context, "label": label, **fields}


def window_logits(examples, starts, ends, null=-5.0):
    """Of each window, 5 at its start and its end (where not 0), and at 0."""
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

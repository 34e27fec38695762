"""Files of texts -> a file of vectors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from absl import logging

from keras_bert.errors import InputError
from keras_bert.io.input_files import expand_globs
from keras_bert.io.paths import to_path
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.kinds.fields import check_text
from keras_bert.predict.request_lines import (
    RequestLine,
    count_lines,
    cut_chunks,
    json_object,
    read_request_files,
    skip_chunks,
)
from keras_bert.progress import Progress
from keras_bert.vectors.embedder import Embedder
from keras_bert.vectors.hidden_states import HiddenStates
from keras_bert.vectors.vector_files import get_format

# The number of lines that are sorted by length together. A killed run loses
# the lines of one chunk.
LINES_PER_CHUNK = 4096
# The hidden states of a line take megabytes as JSON.
_HIDDEN_LINES_PER_CHUNK = 64


def embed_files(
    embedder: Embedder,
    input_file: str,
    output_file: str | Path,
    *,
    field: str | None = None,
    prompt_name: str | None = None,
    batch_size: int = 32,
    layers: Sequence[int] = (),
) -> int:
    """Writes the vector of the text on each line of files, in their order.

    The output file appears when it is whole. After a kill, the same call
    continues after the last 4,096 lines that were done (64 with `layers`), and
    the file gets the same bytes. The log says how many texts were longer than
    the model and cut.

    Example:
        >>> embedder = keras_bert.load_embedder("pretrained", max_seq_length=16)
        >>> keras_bert.embed_files(
        ...     embedder, "sst2/*.tsv", "vectors.npy", field="sentence"
        ... )
        24
        >>> np.load("vectors.npy", mmap_mode="r").shape
        (24, 12)
        >>> keras_bert.embed_files(
        ...     embedder, "corpus.txt", "tokens.jsonl", layers=[-1, -2]
        ... )
        29
        >>> import json
        >>> with open("tokens.jsonl") as file:
        ...     token = json.loads(next(file))["features"][1]
        >>> token["token"], [layer["index"] for layer in token["layers"]]
        ('the', [-1, -2])

    Args:
        embedder: What `load_embedder` returns.
        input_file: Text files, plain or .gz, as comma-separated names or
            globs.
        output_file: A `.npy` file, float32 [N, D]; or a `.parquet` file with
            the column `text`, or the name of the field, and the column
            `embedding` (extra `parquet`). With `layers`, a `.jsonl` file.
        field: The field with the text: a key of JSON objects, one a line, or a
            column that the first line of a file names, with tabs between the
            columns. By default, the whole line is the text.
        prompt_name: The prompt before each text, by default that of the model;
            "" for none.
        batch_size: Number of texts in a batch.
        layers: Layers whose hidden states are written for each token, instead
            of a vector for the text: -1 is the last one, 0 the first one. A
            text may then be a pair, `A ||| B`. The file has the form of
            google-research/bert, extract_features.py: one JSON object a text.

    Returns:
        The number of texts.

    Raises:
        InputError: A line is not UTF-8 or has no such field, there is no line,
            prompt or layer, or what a killed run left is of another model or
            text.
    """
    files = expand_globs(input_file)
    columns = (field,) if field else ()
    if bool(layers) != (to_path(output_file).suffix == ".jsonl"):
        raise InputError(
            f"The output file is {output_file}, but .jsonl is for the hidden "
            "states of layers, and only .jsonl; give layers and .jsonl, or no "
            "layers and .npy or .parquet."
        )
    output = ResumableFile(output_file)
    prompt = embedder.settings.prompt(prompt_name)
    run: dict[str, Any] = {
        "model": embedder.fingerprint(),
        "field": field,
        "prompt": prompt,
        "batch_size": batch_size,
    }
    if layers:
        run["layers"] = list(layers)
        hidden_states = HiddenStates(embedder, layers)
    else:
        output_format = get_format(output_file, field or "text")
    state = output.state or {
        **run,
        "num_lines": 0,
        "num_truncated": 0,
        "digest": "",
    }
    chunks = cut_chunks(
        read_request_files(files, columns),
        _HIDDEN_LINES_PER_CHUNK if layers else LINES_PER_CHUNK,
    )
    if output.state:
        skip_chunks(chunks, output, run)
    with Progress(
        "Embedding",
        count_lines(files, columns),
        "texts",
        initial=state["num_lines"],
    ) as progress:
        for chunk in chunks:
            texts = [_text_of(line, field) for line in chunk.lines]
            part: str | bytes
            if layers:
                part, truncated = hidden_states.json_lines(
                    texts,
                    prompt=prompt,
                    batch_size=batch_size,
                    first_index=state["num_lines"],
                )
                progress.update(len(texts))
            else:
                vectors, truncated = embedder.embed_and_tell(
                    texts,
                    prompt_name=prompt_name,
                    batch_size=batch_size,
                    progress=progress,
                )
                part = output_format.part(texts, vectors)
            state = state | {
                "num_lines": state["num_lines"] + len(texts),
                "num_truncated": state["num_truncated"] + int(truncated.sum()),
                "digest": chunk.digest,
            }
            output.append(part, state)
    if not state["num_lines"]:
        raise InputError(f"{input_file} has no line; give files of texts.")
    if layers:
        output.finish()
    else:
        shape = (state["num_lines"], embedder.size)
        output.finish(functools.partial(output_format.join, shape=shape))
    embedder.log_truncated(state["num_truncated"], state["num_lines"])
    return state["num_lines"]


def _text_of(line: RequestLine, field: str | None) -> str:
    """Returns the text of a line: the whole of it, or one of its fields.

    A line with fields is a JSON object, or has the columns of a header.
    """
    place = f"{line.place[0].upper()}{line.place[1:]}"
    if field is None:
        if line.number == 1 and json_object(line.text) is not None:
            logging.warning(
                "%s is a JSON object, and its vector is that of the whole "
                "line. If one of its fields is the text, give its name.",
                place,
            )
        text = line.text
    elif line.columns:
        parts = line.text.split("\t")
        if len(parts) != len(line.columns):
            raise InputError(
                f"{place} has {len(parts)} columns, but the header has "
                f"{len(line.columns)}."
            )
        text = parts[line.columns.index(field)]
    else:
        values = json_object(line.text)
        if values is None or field not in values:
            raise InputError(
                f"{place} has no field {field!r}; give JSON objects with this "
                "field, or columns with a header that names it."
            )
        text = values[field]
    check_text(text, f"The text of {line.place}")
    return text

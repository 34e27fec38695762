"""Files of texts -> a file of vectors."""

from __future__ import annotations

import functools
from pathlib import Path

from keras_bert.errors import InputError
from keras_bert.io.input_files import expand_globs
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.predict.request_lines import (
    count_lines,
    cut_chunks,
    skip_chunks,
)
from keras_bert.progress import Progress
from keras_bert.vectors.embedder import Embedder
from keras_bert.vectors.text_lines import (
    header_of,
    read_text_lines,
    text_of,
)
from keras_bert.vectors.vector_files import get_format

# The number of lines that are sorted by length together. A killed run loses
# the lines of one chunk.
LINES_PER_CHUNK = 4096


def embed_files(
    embedder: Embedder,
    input_file: str,
    output_file: str | Path,
    *,
    field: str | None = None,
    prompt_name: str | None = None,
    batch_size: int = 32,
) -> int:
    """Writes the vector of the text on each line of files, in their order.

    The output file appears when it is whole. After a kill, the same call
    continues after the last 4,096 lines that were done, and the file gets the
    same bytes. The log says how many texts were longer than the model and cut.

    Example:
        >>> embedder = keras_bert.load_embedder("pretrained", max_seq_length=16)
        >>> keras_bert.embed_files(
        ...     embedder, "sst2/*.tsv", "vectors.npy", field="sentence"
        ... )
        24
        >>> np.load("vectors.npy", mmap_mode="r").shape
        (24, 12)

    Args:
        embedder: What `load_embedder` returns.
        input_file: Text files, plain or .gz, as comma-separated names or
            globs.
        output_file: A `.npy` file, float32 [N, D]; or a `.parquet` file with
            the column `text`, or the name of the field, and the column
            `embedding` (extra `parquet`).
        field: The field with the text: a key of JSON objects, one a line, or a
            column that the first line of a file names, with tabs between the
            columns. By default, the whole line is the text.
        prompt_name: The prompt before each text, by default that of the model;
            "" for none.
        batch_size: Number of texts in a batch.

    Returns:
        The number of texts.

    Raises:
        InputError: A line is not UTF-8 or has no such field, there is no line
            or no such prompt, or what a killed run left is of another model or
            text.
    """
    files = expand_globs(input_file)
    output_format = get_format(output_file, field or "text")
    output = ResumableFile(output_file)
    run = {
        "model": embedder.fingerprint(),
        "field": field,
        "prompt": embedder.settings.prompt(prompt_name),
        "batch_size": batch_size,
    }
    state = output.state or {
        **run,
        "num_lines": 0,
        "num_truncated": 0,
        "digest": "",
    }
    chunks = cut_chunks(read_text_lines(files, field), LINES_PER_CHUNK)
    if output.state:
        skip_chunks(chunks, output, run)
    with Progress(
        "Embedding",
        count_lines(files, header_of(field)),
        "texts",
        initial=state["num_lines"],
    ) as progress:
        for chunk in chunks:
            texts = [text_of(line, field) for line in chunk.lines]
            vectors, truncated = embedder.embed_and_tell(
                texts,
                prompt_name=prompt_name,
                batch_size=batch_size,
                progress=progress,
            )
            state = state | {
                "num_lines": state["num_lines"] + len(texts),
                "num_truncated": state["num_truncated"] + int(truncated.sum()),
                "digest": chunk.digest,
            }
            output.append(output_format.part(texts, vectors), state)
    if not state["num_lines"]:
        raise InputError(f"{input_file} has no line; give files of texts.")
    shape = (state["num_lines"], embedder.size)
    output.finish(functools.partial(output_format.join, shape=shape))
    embedder.log_truncated(state["num_truncated"], state["num_lines"])
    return state["num_lines"]

"""Files of texts -> a file of vectors, or of the hidden states of tokens.

Hidden states are for the BERT paper's feature-based approach (section 5.3). A
line of a file of hidden states has the form that extract_features.py in
google-research/bert writes: `linex_index`, and for each token its `token` and
the `values` of its `layers`, with six decimals.
"""

import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bert.errors import InputError, is_list
from keras_bert.io.csv_files import split_tsv
from keras_bert.io.input_files import (
    begins_json,
    check_is_no_input,
    expand_globs,
    json_object,
)
from keras_bert.io.paths import to_path
from keras_bert.io.resumable_file import ResumableFile
from keras_bert.kinds.fields import check_text
from keras_bert.models.rewired import with_hidden_states
from keras_bert.predict import request_lines
from keras_bert.predict.served_model import capitalized, check_no_nan
from keras_bert.progress import Progress
from keras_bert.vectors.embedder import Embedder

# The number of lines that are sorted by length together. A run that is killed
# loses the results of at most this many lines.
LINES_PER_CHUNK = 4096
# With hidden states, chunks are smaller, because a line takes megabytes.
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
    """Writes a file of vectors: one vector for each line of some text files.

    The vectors are in the order of the lines. The output file appears when it
    is complete. If the process is killed, repeat the call: it continues after
    the last complete chunk of 4,096 lines (64 with `layers`), and the output
    file has the same bytes as after an uninterrupted call. The log says how
    many texts were too long for the model and were cut.

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
        embedder: The embedder that `load_embedder` returned.
        input_file: The text files, plain or .gz, as comma-separated names or
            globs.
        output_file: A `.npy` file, float32 [N, D]; with `layers`, a `.jsonl`
            file.
        field: The field with the text. If each line is a JSON object, the field
            is a key. Otherwise, the field is a column named in the first line
            of the file; the columns are separated by tabs (in a `.csv` file, by
            commas, semicolons or tabs). By default, the whole line is the text.
            The texts of several fields, such as "title,text", are joined by a
            space.
        prompt_name: The name of the prompt before each text; "" for no prompt.
            By default, the model's default prompt is used.
        batch_size: The number of texts in a batch.
        layers: The indices of layers whose hidden states are written for each
            token, instead of a vector for the text: 0 is the first layer, and
            -1 is the last. With `layers`, a text may be a pair, `A ||| B`, and
            the output file has one JSON object per text, in the form that
            extract_features.py in google-research/bert writes.

    Returns:
        The number of texts.

    Raises:
        InputError: If a line is not valid UTF-8 or lacks the field, if the
            files have no lines, if the model lacks the prompt or a layer, or if
            an unfinished output file belongs to another model or text.
    """
    files = expand_globs(input_file)
    if to_path(output_file).suffix != (".jsonl" if layers else ".npy"):
        raise InputError(
            f"The output file is {output_file}, but must end with .npy, or "
            "with .jsonl for the hidden states of layers."
        )
    check_is_no_input(output_file, files)
    if field is not None:
        check_text(field, "The field")
    if not is_list(layers):
        raise InputError(
            f"layers is {layers!r}, but must be a list of whole numbers."
        )
    names = _names(field)
    output = ResumableFile(output_file)
    prompt = embedder.settings.prompt(prompt_name)
    hidden_states = HiddenStates(embedder, layers) if layers else None
    run = {
        "model": embedder.fingerprint(),
        "field": field,
        "prompt": prompt,
        "batch_size": batch_size,
        "layers": list(layers),
    }
    lines = request_lines.read_request_files(files, names)
    size = _HIDDEN_LINES_PER_CHUNK if layers else LINES_PER_CHUNK
    done = output.state or {"num_lines": 0, "num_truncated": 0}
    num_lines, num_truncated = done["num_lines"], done["num_truncated"]
    total = request_lines.count_lines(files, names)
    with Progress("Embedding", total, "texts", initial=num_lines) as progress:
        for chunk, state in request_lines.new_chunks(lines, size, output, run):
            texts = [_text_of(line, names) for line in chunk]
            part: str | bytes
            if hidden_states:
                part, truncated = hidden_states.json_lines(
                    texts, prompt, batch_size, num_lines
                )
                progress.update(len(texts))
            else:
                vectors, truncated = embedder.embed_and_tell(
                    texts,
                    prompt_name=prompt_name,
                    batch_size=batch_size,
                    progress=progress,
                )
                part = vectors.astype("<f4").tobytes()
            num_lines += len(texts)
            num_truncated += int(truncated.sum())
            output.append(part, state | {"num_truncated": num_truncated})
    if not num_lines:
        raise InputError(f"{input_file} has no lines; give files with texts.")
    output.finish(b"" if layers else _npy_header(num_lines, embedder.size))
    embedder.log_truncated(num_truncated, num_lines)
    return num_lines


def read_texts(input_file: str, field: str | None) -> Iterator[str]:
    """Yields the texts that `embed_files` reads from files, in order."""
    files, names = expand_globs(input_file), _names(field)
    for line in request_lines.read_request_files(files, names):
        yield _text_of(line, names)


def _names(field: str | None) -> list[str]:
    return [] if field is None else field.split(",")


def _npy_header(*shape: int) -> bytes:
    file = io.BytesIO()
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def _text_of(line: request_lines.RequestLine, names: list[str]) -> str:
    """Returns the text of a line: its fields with the names, or all of it."""
    place = capitalized(line.place)
    values = json_object(line.text)
    if not names:
        if line.number == 1 and begins_json(line.text):
            raise InputError(
                f"{place} is JSON; give one JSON object per line, and name the "
                "field with the text, such as --field=text."
            )
        parts = [line.text]
    else:
        if line.columns:
            values, cells = None, split_tsv(line.text)
            if len(cells) == len(line.columns):
                values = request_lines.by_column(line.columns, cells, names)
        if values is None or not values.keys() >= {*names}:
            raise InputError(
                f"{place} has no field {','.join(names)!r}; give JSON objects "
                "with this field, or a header with this column and the same "
                "number of columns in each line."
            )
        parts = [values[name] for name in names]
    for part in parts:
        check_text(part, f"The text of {line.place}")
    return " ".join(parts)


class HiddenStates:
    """Computes the outputs of chosen layers of an embedder's encoder."""

    def __init__(self, embedder: Embedder, layers: Sequence[int]):
        """Chooses layers by index: 0 is the first layer, and -1 is the last.

        Raises InputError if there is no such layer, or if the model reads long
        texts in windows.
        """
        if embedder.settings.in_windows:
            raise InputError(
                "The model reads long texts in windows, so a token may have "
                "several hidden states; give a model whose window_pooling is "
                "none."
            )
        parts = embedder.model.layers
        (encoder,) = (x for x in parts if isinstance(x, keras.Model))
        count = sum(x.name.startswith("layer_") for x in encoder.layers)
        for number in layers:
            if type(number) is not int or not -count <= number < count:
                raise InputError(
                    f"There is no layer {number!r}: the model has {count}, "
                    f"from {-count} to -1, or from 0 to {count - 1}."
                )
        self._embedder, self._layers = embedder, layers
        numbers = [number % count + 1 for number in layers]
        network = with_hidden_states(
            keras.Model(encoder.input, {"sequence_output": encoder.output}),
            numbers,
        )

        @tf.function(autograph=False, reduce_retracing=True)
        def compute(features: dict[str, tf.Tensor]) -> tf.Tensor:
            outputs = network(features, training=False)
            return tf.stack([outputs[f"hidden_{i}"] for i in numbers], axis=2)

        self._compute = compute

    def json_lines(
        self, texts: Sequence[str], prompt: str, batch_size: int, index: int
    ) -> tuple[str, np.ndarray]:
        """Returns JSON lines for N texts, and whether texts were cut, bool [N].

        A text may be a pair of texts, `A ||| B`. `index` is the `linex_index`
        of the first line.
        """
        examples = [text.strip().rsplit(" ||| ", 1) for text in texts]
        lines = [""] * len(texts)
        truncated = np.zeros(len(texts), bool)
        for num_texts in (1, 2):
            numbers = [i for i, x in enumerate(examples) if len(x) == num_texts]
            if not numbers:
                continue
            first, *second = zip(*(examples[i] for i in numbers), strict=True)
            batches = self._embedder.batches(
                [prompt + text for text in first], *second, size=batch_size
            )
            for places, batch, are_cut in batches:
                rows = {name: x[:, 0] for name, x in batch.items()}  # [B, S]
                states = self._compute(rows).numpy()  # [B, S, layers, H]
                check_no_nan({"hidden_states": states}, "this model")
                ids = rows["input_ids"].numpy()
                sizes = tf.reduce_sum(rows["input_mask"], axis=1).numpy()
                for i, place in enumerate(places):
                    number, size = numbers[place], sizes[i]
                    truncated[number] = are_cut[i]
                    lines[number] = self._json_line(
                        index + number, ids[i, :size], states[i, :size]
                    )
        return "".join(lines), truncated

    def _json_line(
        self, index: int, ids: np.ndarray, states: np.ndarray
    ) -> str:
        # In float32, rounded numbers would be written with more than six
        # decimals.
        states = np.round(states.astype("float64"), 6).tolist()
        tokens = self._embedder.preprocessor.tokenizer.tokens(ids)
        features = [
            {
                "token": token,
                "layers": [
                    {"index": number, "values": values}
                    for number, values in zip(self._layers, x, strict=True)
                ],
            }
            for token, x in zip(tokens, states, strict=True)
        ]
        return json.dumps({"linex_index": index, "features": features}) + "\n"

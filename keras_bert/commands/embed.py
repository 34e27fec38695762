r"""Turns the texts in files into vectors, and writes them to a .npy file.

    keras-bert embed --input_file='texts/*.txt.gz' --output_file=vectors.npy
    keras-bert embed --checkpoint=finetuned --field=title \
        --input_file=articles.jsonl --output_file=titles.npy
    keras-bert embed --checkpoint=e5 --prompt_name=query \
        --prompts='{"query": "query: "}' \
        --input_file=queries.txt --output_file=queries.npy

Each line of the input files is a text. With --field, each line is a JSON object
with this field, or a row of tab-separated columns; the first line of the file
then names the columns. A .csv file may have commas and quotes. The output file
appears when it is complete. If the command is killed, run it again: it
continues.

With --layers, the command writes the hidden states of each token, as
extract_features.py in google-research/bert does. A line may then be a pair of
texts, A ||| B:

    keras-bert embed --checkpoint=pretrained --layers=-1,-2,-3,-4 \
        --input_file=texts.txt --output_file=tokens.jsonl

Args:
    checkpoint: A fine-tuned model of the kind embedding, a
        sentence-transformers folder, or a pre-trained checkpoint; by default,
        the small English model in this package.
    input_file: The files or globs, separated by commas; the files may be .gz.
    output_file: The new file, a .npy, or a .jsonl with --layers.
    field: The field with the text, or several fields, such as title,text; by
        default, the whole line is the text.
    prompt_name: The name of the prompt before each text, such as query or
        document; by default, the model's default prompt.
    dimensions: The size to which each vector is cut; by default, vectors are
        not cut.
    layers: The layers whose hidden states are written, separated by commas: -1
        is the last layer, 0 the first.
    batch_size: The number of texts in a batch.
    bert_config_file: The bert_config.json; by default, the file beside the
        checkpoint.
    vocab_file: The vocab.txt; by default, the file beside the checkpoint.
    do_lower_case: Whether to lower-case the text; by default, as the checkpoint
        says.
"""

import keras_bert
from keras_bert.commands.flags import Flags, read_bert_config

_SETTINGS = ("pooling", "normalize", "max_seq_length", "prompts")


def define(flags: Flags) -> None:
    flags.add_settings([keras_bert.kinds.EmbeddingSettings], _SETTINGS)


def run(
    flags: Flags,
    input_file: str,
    output_file: str,
    checkpoint: str = "mini_en",
    field: str | None = None,
    prompt_name: str | None = None,
    dimensions: int | None = None,
    layers: list | None = None,
    batch_size: int = 32,
    bert_config_file: str | None = None,
    vocab_file: str | None = None,
    do_lower_case: bool | None = None,
) -> None:
    for name in ("pooling", "normalize", "dimensions"):
        if layers and flags[name].value is not None:
            raise keras_bert.InputError(
                f"--{name} is for vectors of texts, but --layers writes "
                f"hidden states of tokens; leave out --{name} or --layers."
            )
    embedder = keras_bert.load_embedder(
        checkpoint,
        dimensions=dimensions,
        bert_config=read_bert_config(bert_config_file, vocab_file),
        vocab_file=vocab_file,
        do_lower_case=do_lower_case,
        **flags.settings(),
    )
    default_name = embedder.settings.default_prompt_name
    if flags["prompts"].value and prompt_name is None and not default_name:
        raise keras_bert.InputError(
            "--prompts has no effect without --prompt_name, because the model "
            "has no default prompt; give --prompt_name."
        )
    count = keras_bert.embed_files(
        embedder,
        input_file,
        output_file,
        field=field,
        prompt_name=prompt_name,
        batch_size=batch_size,
        layers=flags.whole_numbers("layers"),
    )
    what = "hidden states" if layers else "vectors"
    print(f"Wrote the {what} of {count} texts to {output_file}")

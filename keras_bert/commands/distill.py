r"""Trains a small network to reproduce a large one's vectors, without labels.

    keras-bert keep-layers --checkpoint=large --layers=0,2,5 \
        --output_dir=shallow
    keras-bert trim-vocab --checkpoint=shallow --vocab_size=10000 \
        --input_file='texts/*.txt.gz' --output_dir=student
    keras-bert distill --teacher=large --checkpoint=student \
        --input_file='texts/*.txt.gz' --output_dir=out

With --hidden_layer_map, --relation_layer_map or --score_layer_map, the network
also learns from the teacher's layers. The teacher's vocabulary must then have
all word pieces of the network's vocabulary.

Each line of the input files is a text. With --field, each line is a JSON object
with this field, or a row of tab-separated columns. Repeat the command to resume
a stopped run.

Args:
    teacher: A fine-tuned model of the kind embedding, a
        sentence-transformers folder, or a pre-trained checkpoint.
    checkpoint: The initial weights, with their config and vocabulary.
    input_file: The text files or globs, separated by commas; the files may be
        .gz.
    output_dir: A folder for checkpoints, metrics and the best model.
    field: The field with the text, or several fields, such as title,text; by
        default, the whole line is the text.
    dense: The layers after the small network's pooling, such as 384:linear.
        These layers are needed if the size of the teacher's vectors is not the
        hidden size of the small network.
    cache_dir: A local folder for the teacher's vectors and the encoded texts;
        by default, the folder `encoded` in output_dir.
    overwrite_output_dir: Whether to start over if output_dir already contains a
        run.
"""

import keras_bert
from keras_bert.commands.convert import define  # noqa: F401
from keras_bert.commands.flags import Flags


def run(
    flags: Flags,
    teacher: str,
    checkpoint: str,
    input_file: str,
    output_dir: str,
    config: keras_bert.FinetuningConfig,
    field: str | None = None,
    dense: str = "",
    cache_dir: str | None = None,
    overwrite_output_dir: bool = False,
) -> dict[str, float]:
    return keras_bert.vectors.distill(
        keras_bert.load_embedder(teacher, **flags.settings()),
        checkpoint,
        input_file,
        output_dir,
        field=field,
        config=config,
        settings={"dense": dense},
        cache_dir=cache_dir,
        overwrite_output_dir=overwrite_output_dir,
    )

"""A block of documents -> a part: the folder of its records."""

import collections
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.io.whole_files import full_disk_named, shared_path, write_json
from keras_bert.pretraining.write import documents_to_pairs
from keras_bert.pretraining.write.arrays_to_records import serialize_examples
from keras_bert.pretraining.write.config import V2_NAMES, PretrainingDataConfig
from keras_bert.pretraining.write.text_to_blocks import Block
from keras_bert.text.masking import MaskedLMMasker
from keras_bert.text.tokenizer import BertTokenizer

# Fewer instances per call are slower; with more, a worker needs over 1 GB of
# memory.
_INSTANCES_PER_CALL = 2000


class RecordMaker:
    """Makes the records of one block after another, and reuses its graphs.

    The records depend only on the block, its number and the config, so they can
    be made in any process and in any order.
    """

    def __init__(self, tokenizer: BertTokenizer, config: PretrainingDataConfig):
        self._tokenizer = tokenizer
        self._config = config
        self._corpus = documents_to_pairs.corpus_maker(
            tokenizer, by_punctuation=config.split_sentences
        )
        self._masker = MaskedLMMasker(tokenizer, config=config)

    def make_part(self, block: Block, path: Path, num_files: int) -> int:
        """Makes a block's part at `path`; returns the block's character count.

        A part is a folder that appears when it is complete. It contains
        `counts.json` and the TFRecord files "0" to `num_files` - 1, among which
        the records are divided evenly.
        """
        counts: collections.Counter = collections.Counter()
        compression = "GZIP" if self._config.gzip_compress else ""
        with (
            full_disk_named(path, tf.errors.OpError),
            shared_path(path) as folder,
        ):
            folder.mkdir()
            records = self.records(block, counts)
            total = counts["instances"]
            for i in range(num_files):
                # Blocks start at different files, so all files grow equally.
                file = folder / str((block.number + i) % num_files)
                size = total * (i + 1) // num_files - total * i // num_files
                with tf.io.TFRecordWriter(str(file), compression) as writer:
                    for record in itertools.islice(records, size):
                        writer.write(record)
            write_json(folder / "counts.json", counts)
        return sum(map(len, block.documents))

    def records(
        self, block: Block, counts: collections.Counter
    ) -> Iterator[bytes]:
        """Returns the shuffled records of a block.

        Random next sentences come from other documents of the same block.
        `counts["instances"]` is complete when the call returns; the other
        counts are complete when the iterator is exhausted.
        """
        config = self._config
        corpus = self._corpus(block.documents)
        # From a string, Python derives the same seed in every process.
        generator = random.Random(f"{config.random_seed}/{block.number}")
        rows = documents_to_pairs.draw_rows(corpus, config, generator)
        order = np.random.default_rng(generator.getrandbits(64))
        rows = rows[order.permutation(len(rows))]
        is_single = np.diff(corpus.document_ends) < 2
        too_long = np.diff(corpus.sentence_ends) - (config.max_seq_length - 3)
        counts.update(
            documents=len(corpus.document_ends) - 1,
            sentences=len(corpus.sentence_ends) - 1,
            tokens=len(corpus.ids),
            instances=len(rows),
            one_sentence_documents=int(is_single.sum()),
            cut_tokens=int(too_long.clip(0).sum()),
        )

        def serialized(begin: int) -> list[bytes]:
            chunk = rows[begin : begin + _INSTANCES_PER_CALL]
            if config.dynamic_masking:
                features: Any = documents_to_pairs.stretch_features(
                    corpus, chunk
                )
            else:
                # An instance's seed does not depend on _INSTANCES_PER_CALL.
                seeds = np.full((len(chunk), 3), config.random_seed, np.int64)
                seeds[:, 1] = block.number
                seeds[:, 2] = begin + np.arange(len(chunk))
                features = self._masked(corpus.ids, chunk, seeds)
                features = {x: y.numpy() for x, y in features.items()}
                is_masked = features["masked_lm_weights"].any(axis=1)
                counts.update(
                    random_next=int(chunk[:, 4].sum()),
                    input_tokens=int(features["input_mask"].sum()),
                    masked_tokens=int(features["masked_lm_weights"].sum()),
                    unmasked_instances=int((~is_masked).sum()),
                )
                if config.use_v2_feature_names:
                    features = {
                        V2_NAMES.get(name, name): values
                        for name, values in features.items()
                    }
            return serialize_examples(features)

        begins = range(0, len(rows), _INSTANCES_PER_CALL)
        return itertools.chain.from_iterable(map(serialized, begins))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, 5], tf.int64),
            tf.TensorSpec([None, 3], tf.int64),
        ],
        autograph=False,
    )
    def _masked(self, ids: Any, pairs: Any, seeds: Any) -> Any:
        begin, end, second_begin, second_end, is_random = tf.unstack(
            pairs, axis=1
        )
        features = documents_to_pairs.pack_pairs(
            ids,
            begin,
            end - begin,
            second_begin,
            second_end - second_begin,
            tokenizer=self._tokenizer,
            max_seq_length=self._config.max_seq_length,
        )
        labels = tf.cast(is_random[:, None], tf.int32)
        return self._masker(features | {"next_sentence_labels": labels}, seeds)

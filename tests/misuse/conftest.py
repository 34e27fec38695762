"""What the tables of misuse are about; models are built once."""

import functools
import json

import pytest
from conftest import SPECIAL_TOKENS, WORDS, randomize, write_vocab
from kind_examples import make_kind
from small_checkpoint import write_checkpoint

import keras_bert
from keras_bert.finetuning.finetuned_model import FinetunedModel
from keras_bert.tasks import readers
from keras_bert.tasks.conll import conll
from keras_bert.tasks.squad import read_squad

LINES = [
    "the fox jumped over a dog .",
    "a film is not bad , the movie",
    "",
    "the dog was lazy",
    "a film is good",
    "",
]
TAGS = ("O", "B-PER", "I-PER")
KINDS = {
    "classification": {"labels": ("0", "1"), "metrics": ("accuracy",)},
    "named": {"labels": ("no", "yes"), "metrics": ("accuracy",)},
    "pairs": {"labels": ("0", "1"), "text_fields": ("left", "right")},
    "multilabel": {"labels": ("a", "b"), "metrics": ("micro_f1",)},
    "regression": {"min_value": 0.0, "max_value": 5.0},
    "multiple_choice": {"metrics": ("accuracy",)},
    "token_classification": {"labels": TAGS, "metrics": ("f1",)},
    "span": {"metrics": ("f1",), "doc_stride": 3, "max_query_length": 4},
    "embedding": {"metrics": ("spearman",), "text_fields": ("a", "b")},
}


class World:
    """Models, a checkpoint, a vocabulary and records, made when needed."""

    def __init__(self, folder, config):
        self.folder = folder
        self.config = config
        self.vocab_file = write_vocab(folder)
        self.pieces = SPECIAL_TOKENS + WORDS
        self._models = {}

    def model(self, name):
        if name not in self._models:
            self._models[name] = self._make(name)
        return self._models[name]

    def _make(self, name):
        kind = make_kind(
            "classification" if name in ("named", "pairs") else name,
            self.vocab_file,
            self.config,
            **KINDS[name],
        )
        network = kind.build_model(self.config)
        randomize(network)
        return FinetunedModel(network, kind, self.config)

    def saved(self, name):
        folder = self.folder / name
        if not folder.exists():
            self.model(name).save(folder)
        return folder

    @functools.cached_property
    def checkpoint(self):
        return write_checkpoint(self.folder / "pretrained", self.config)

    @functools.cached_property
    def tokenizer(self):
        return keras_bert.BertTokenizer(self.vocab_file)

    @functools.cached_property
    def records(self):
        file = self.folder / "train.tfrecord"
        keras_bert.create_pretraining_data(
            LINES,
            [file],
            self.tokenizer,
            keras_bert.PretrainingDataConfig(
                max_seq_length=14, max_predictions_per_seq=3
            ),
        )
        return file


class Given:
    """Files of a case, and short ways to hand them over."""

    def __init__(self, world, folder):
        self.world = world
        self.folder = folder

    def __getattr__(self, name):
        return getattr(self.world, name)

    def file(self, name, content):
        path = self.folder / name
        data = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(data)
        return path

    def described(self, content):
        """Returns records with this content in the .json beside them."""
        self.file("a.tfrecord.json", content)
        return self.file("a.tfrecord", self.records.read_bytes())

    def read(self, make, name, content, **options):
        self.file(name, content)
        return list(make(train=name, **options)(self.folder, "train"))

    def tsv(self, content, **options):
        columns = {"text": "text", "label": "label"}
        options = {"columns": columns} | options
        return self.read(readers.tsv, "a.tsv", content, **options)

    def csv(self, content):
        columns = {"text": "text", "label": "label"}
        return self.read(readers.csv, "a.csv", content, columns=columns)

    def jsonl(self, content):
        return self.read(readers.jsonl, "a.jsonl", content)

    def conll(self, content):
        return self.read(
            conll, "a.txt", content, validation="a.txt", labels=TAGS
        )

    def squad(self, answers_may_be_missing=False, **question):
        question = {
            "id": "1",
            "question": "Who?",
            "answers": [{"text": "fox", "answer_start": 4}],
        } | question
        paragraph = {"context": "The fox is lazy.", "qas": [question]}
        file = self.file(
            "a.json", json.dumps({"data": [{"paragraphs": [paragraph]}]})
        )
        (row,) = read_squad(file, answers_may_be_missing=answers_may_be_missing)
        return row["label"]

    def swag(self, content):
        self.file("train.csv", content)
        return list(keras_bert.get_task("swag").read(self.folder, "train"))

    def lines(self, name, content, **options):
        source = keras_bert.pretraining.TextSource(
            str(self.file(name, content)), **options
        )
        return [line for line in source.lines() if line]

    def predict(self, rows, kind="classification", **options):
        return self.model(kind).predict(rows, **options)

    def evaluate(self, rows, kind="classification", **options):
        return self.model(kind).evaluate(rows, **options)

    def evaluate_one(self, kind, **row):
        return sorted(self.evaluate([row], kind))

    def vocab(self, content, name="vocab.txt", **options):
        return keras_bert.BertTokenizer(self.file(name, content), **options)

    def create(self, text=LINES, outputs=None, **options):
        outputs = [self.folder / "a"] if outputs is None else outputs
        return keras_bert.create_pretraining_data(
            text, outputs, self.tokenizer, **options
        )

    def pretrain(self, files, config=None, *, bert_config=None, **options):
        return keras_bert.pretrain(
            bert_config or self.config,
            files,
            self.folder / "output",
            config=keras_bert.PretrainingConfig(
                **{"max_seq_length": 14, "max_predictions_per_seq": 3}
                | (config or {})
            ),
            **options,
        )

    def finetune(self, task, **options):
        options = {
            "checkpoint": self.checkpoint,
            "config": keras_bert.FinetuningConfig(num_train_epochs=1),
        } | options
        output = options.pop("output_dir", self.folder / "output")
        return keras_bert.finetune(task, self.folder, output, **options)


@pytest.fixture(scope="session")
def world(tmp_path_factory, config):
    return World(tmp_path_factory.mktemp("misuse"), config)


@pytest.fixture
def given(world, tmp_path, eagerly):
    return Given(world, tmp_path)

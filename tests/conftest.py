"""Fixtures of many tests: different tiny sizes, a tiny vocabulary, a seed."""

import ctypes
import gc
import os
import re
from logging import getLogger
from pathlib import Path

import fsspec
import numpy as np
import pytest
from script_runs import make_inputs

from keras_bert.config import BertConfig
from keras_bert.io.paths import to_path

# JAX would set another level, which the scripts that tests start would take.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# As the commands, whose numbers some tests compare with those made here.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# All different, so that a swapped axis cannot pass.
B, S, P, V = 2, 7, 5, 31
CONFIG = BertConfig(
    vocab_size=V,
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=20,
    max_position_embeddings=16,
)

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "the a quick brown fox jump ##s ##ed over lazy dog . , ! ? un ##aff ##able "
    "film is good bad not very was movie"
).split()


def pytest_configure(config):
    """Makes two logical devices on any machine, for the `mirrored` strategy.

    An operation has one thread: handing out the work of tiny networks takes a
    quarter of the time. The scripts that tests start have all threads.

    With several processes, the first one runs no test: it starts the others at
    once if it does not import TensorFlow.
    """
    if config.getoption("numprocesses", 0) and not hasattr(
        config, "workerinput"
    ):
        return
    capture = config.pluginmanager.get_plugin("capturemanager")
    capture.resume_global_capture()  # TensorFlow prints several lines
    import tensorflow as tf

    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
    tf.config.threading.set_intra_op_parallelism_threads(1)
    capture.read_global_capture()
    capture.suspend_global_capture()


def pytest_collection_finish():
    """Keeps the garbage collector from looking through all modules."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def config():
    return CONFIG


@pytest.fixture(autouse=True)
def seed():
    import keras

    keras.utils.set_random_seed(12345)


@pytest.fixture(autouse=True)
def quick_files(request, monkeypatch):
    """Neither waits for the disk nor draws: half of the time of a small run.

    A test with the mark `pictures` has them drawn.
    """
    monkeypatch.setattr(os, "fsync", lambda file: None)
    if not request.node.get_closest_marker("pictures"):
        monkeypatch.setattr(
            "matplotlib.figure.Figure.savefig",
            lambda figure, path, **options: Path(path).touch(),
        )


@pytest.fixture(autouse=True)
def log_levels():
    """Restores what a test changes, such as the verbosity of absl."""
    levels = {
        logger: logger.level
        for logger in map(getLogger, (None, "absl", "tensorflow"))
    }
    yield
    for logger, level in levels.items():
        logger.setLevel(level)


@pytest.fixture
def eagerly():
    """Runs every tf.function without a graph, where making it takes longest."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(autouse=True, scope="module")
def free_memory():
    """Frees graphs after each file: a process must stay under 3 GB."""
    yield
    gc.collect()
    # glibc keeps most of what is freed.
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


@pytest.fixture(scope="session")
def mirrored():
    """Two replicas: the strategy of the process, which can have only one."""
    from keras_bert.training.config import TrainConfig
    from keras_bert.training.distribution import get_strategy

    return get_strategy(TrainConfig(distribution_strategy="mirrored"))


@pytest.fixture
def vocab_file(tmp_path):
    return write_vocab(tmp_path)


@pytest.fixture
def features():
    """A batch of pairs, the second row padded, with masked positions."""
    return {
        "input_ids": np.array(
            [[2, 5, 9, 3, 7, 8, 3], [2, 30, 12, 3, 6, 3, 0]], "int32"
        ),
        "input_mask": np.array(
            [[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]], "int32"
        ),
        "segment_ids": np.array(
            [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 0]], "int32"
        ),
        "masked_lm_positions": np.array(
            [[1, 2, 4, 5, 0], [1, 4, 0, 0, 0]], "int32"
        ),
    }


@pytest.fixture
def logged(caplog):
    """The log of the package, also what only informs."""
    # Not absl's set_verbosity: the level before it cannot be set again by it.
    caplog.set_level("INFO", "absl")
    return caplog


@pytest.fixture(scope="session")
def shared():
    """The folder with golden results and real data; skips if absent."""
    folder = os.environ.get("KERAS_BERT_SHARED")
    if not folder:
        pytest.skip("KERAS_BERT_SHARED is not set: no golden results here")
    return Path(folder)


@pytest.fixture(scope="session")
def store():
    """The URL of an empty bucket of a local S3, which child processes see."""
    from moto.server import ThreadedMotoServer  # takes a second

    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        getLogger("werkzeug").setLevel("ERROR")  # it logs each request
        server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        server.start()
        patch.setenv(
            "AWS_ENDPOINT_URL",
            "http://{}:{}".format(*server.get_host_and_port()),
        )
        fsspec.filesystem("s3").mkdir("bucket")
        yield "s3://bucket"
        server.stop()


@pytest.fixture
def remote(store, request):
    """A folder on a store of its own for each test, as a path."""
    name = re.sub(r"\W+", "-", request.node.name)
    return to_path(f"{store}/{name}")


@pytest.fixture(scope="session")
def script_folder(tmp_path_factory):
    """The inputs of the scripts."""
    folder = tmp_path_factory.mktemp("scripts")
    make_inputs(folder)
    return folder


def write_vocab(folder):
    path = folder / "vocab.txt"
    path.write_text("\n".join(SPECIAL_TOKENS + WORDS) + "\n")
    assert len(SPECIAL_TOKENS + WORDS) == V
    return path


def randomize(model, scale=0.3):
    """Adds noise to every weight, so that zeros and ones cannot hide a bug."""
    random = np.random.default_rng(7)
    for weight in model.weights:
        noise = random.normal(0.0, scale, weight.shape)
        weight.assign(weight.numpy() + noise.astype("float32"))

"""A network in a .tflite file, in LiteRT's interpreter."""

from ai_edge_litert.interpreter import Interpreter
from contestant import Prepared
from random_batches import random_features

PACKAGES = ("keras-bert-tf", "ai-edge-litert")


def prepare(options):
    interpreter = Interpreter(
        model_path=options["file"], num_threads=options["num_threads"]
    )
    call = interpreter.get_signature_runner()

    def run(case):
        features = random_features(**case, vocab_size=options["vocab_size"])
        return call(**features)["sequence_output"]

    return Prepared(run, check=lambda hidden: hidden[0, 0, :8].tolist())

"""Asks exported models with nothing but TensorFlow, of any version.

python tests/ask_saved_models.py requests.pickle answers.pickle [portable]

The requests are the inputs by folder, signature and name. The answers are the
outputs by way of asking, folder, signature and name. Portable models are asked
where tensorflow_text and keras_bert cannot be imported.
"""

import pickle
import sys

import tensorflow as tf

if sys.argv[-1] == "portable":
    sys.modules |= {"tensorflow_text": None, "keras_bert": None}
else:
    import tensorflow_text


def ask_function(folder, requests):
    """Asks as a Python program does."""
    model = tf.saved_model.load(folder)
    answers = {}
    for signature, inputs in requests.items():
        serve = model.signatures[signature]
        specs = serve.structured_input_signature[1]
        outputs = serve(
            **{
                name: tf.constant(values, specs[name].dtype)
                for name, values in inputs.items()
            }
        )
        answers[signature] = {
            name: value.numpy().tolist() for name, value in outputs.items()
        }
    return answers


def ask_session(folder, requests):
    """Asks as TensorFlow Serving does."""
    answers = {}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        load = tf.compat.v1.saved_model.load
        signatures = load(session, ["serve"], folder).signature_def
        for signature, inputs in requests.items():
            names = signatures[signature]
            outputs = session.run(
                {name: info.name for name, info in names.outputs.items()},
                {
                    names.inputs[name].name: values
                    for name, values in inputs.items()
                },
            )
            answers[signature] = {
                name: value.tolist() for name, value in outputs.items()
            }
    return answers


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        all_requests = pickle.load(file)
    answers = {
        ask.__name__: {
            folder: ask(folder, requests)
            for folder, requests in all_requests.items()
        }
        for ask in (ask_function, ask_session)
    }
    with open(sys.argv[2], "wb") as file:
        pickle.dump(answers, file)
    is_portable = sys.modules["tensorflow_text"] is None
    text = "none" if is_portable else tensorflow_text.__version__
    print(tf.__version__, "|", text)

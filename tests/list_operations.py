"""Prints all operations of TensorFlow and tensorflow-text.

An operation is a line: its name, and the names of its attributes.
"""

import tensorflow_text  # noqa: F401  (registers its operations)
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

if __name__ == "__main__":
    operations = op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    )
    for operation in sorted(operations.op, key=lambda op: op.name):
        print(operation.name, *sorted(x.name for x in operation.attr))

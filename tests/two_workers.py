"""Environments for two workers that find each other on this machine."""

import json
import os
import socket


def environments():
    """Returns two environments with the TF_CONFIG that TensorFlow documents.

    The first worker is the chief. Neither worker sees a GPU.
    """
    with socket.socket() as first, socket.socket() as second:
        ports = []
        for taken in (first, second):
            taken.bind(("127.0.0.1", 0))
            ports.append(taken.getsockname()[1])
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    tasks = [{"type": "worker", "index": i} for i in range(2)]
    return [
        os.environ
        | {
            "TF_CONFIG": json.dumps({"cluster": cluster, "task": task}),
            "CUDA_VISIBLE_DEVICES": "-1",
        }
        for task in tasks
    ]

"""The environments of two processes that find each other on this machine."""

import json
import os
import socket


def environments():
    """Returns two, with TF_CONFIG; the first is the chief. GPUs are hidden."""
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

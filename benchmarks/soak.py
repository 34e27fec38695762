r"""Keeps keras-bert serve busy while new versions of its model arrive.

    python benchmarks/soak.py --model=all-MiniLM-L6-v2 \
        --short=SST-2/dev.tsv --minutes=30 --picture=soak.png

Clients send single texts, and compare each answer with the first answer to the
same text. Prints how often each status came, the largest change of a number in
an answer, and the server's memory at the beginning and at the end. Also draws a
picture of the memory.
"""

import argparse
import collections
import http.client
import json
import random
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from server_load import (
    free_port,
    memory_mb,
    read_lines,
    serve_exports,
    wait_for_an_answer,
)

_NUM_CLIENTS = 16
_NUM_SWAPS = 10
_NUM_TEXTS = 300


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a checkpoint")
    parser.add_argument("--short", required=True, help="TSV with a header")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--engine", default="onnx")
    parser.add_argument("--picture", default="soak.png")
    args = parser.parse_args()
    texts = read_lines(args.short)[:_NUM_TEXTS]
    with tempfile.TemporaryDirectory() as folder:
        (command,) = serve_exports(args.model, folder, [args.engine]).values()
        port = free_port()
        server = subprocess.Popen(
            [part.replace("{port}", str(port)) for part in command],
            stdout=subprocess.DEVNULL,
        )
        try:
            wait_for_an_answer(server, port)
            versions = Path(folder, args.engine)
            memory = soak(server, port, texts, versions, 60 * args.minutes)
        finally:
            server.terminate()
            print("exit status", server.wait())
    draw(memory, args.picture)


def soak(server, port, texts, versions, seconds):
    """Returns the server's memory over time: pairs of seconds and MB."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    expected = [ask(connection, text)[1] for text in texts]
    end = time.monotonic() + seconds
    statuses, changes = collections.Counter(), [0.0]

    def client(number):
        chosen = random.Random(number)
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while time.monotonic() < end:
            i = chosen.randrange(len(texts))
            status, vector = ask(connection, texts[i])
            statuses[status] += 1
            if status == 200:
                change = np.abs(vector - expected[i]).max()
                changes[0] = max(changes[0], change)

    clients = [
        threading.Thread(target=client, args=[i]) for i in range(_NUM_CLIENTS)
    ]
    for thread in clients:
        thread.start()
    memory, num_swaps = [], 0
    first = next(x for x in versions.iterdir() if x.name.isdigit())
    while (left := end - time.monotonic()) > 0:
        memory.append((seconds - left, memory_mb(server)))
        if seconds - left > seconds * (num_swaps + 1) / (_NUM_SWAPS + 1):
            num_swaps += 1
            copy = shutil.copytree(first, versions / "copy")
            copy.rename(versions / str(int(first.name) + num_swaps))
        time.sleep(min(5, left))
    for thread in clients:
        thread.join()
    lost = sum(statuses[x] for x in statuses if x != 200)
    print(f"{dict(statuses)}, {lost} lost, {num_swaps} new versions")
    print(f"the largest change of a number: {changes[0]:.2g}")
    print(f"MB: {memory[0][1]:.0f} at first, {memory[-1][1]:.0f} at the end")
    return memory


def ask(connection, text):
    """Returns the status (or an error's name) and the vector for a text."""
    body = json.dumps({"model": "model", "input": text})
    json_type = {"Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/embeddings", body, json_type)
        answer = connection.getresponse()
        body = answer.read()
    except OSError as error:
        connection.close()
        return type(error).__name__, None
    if answer.status != 200:
        return answer.status, None
    return 200, np.array(json.loads(body)["data"][0]["embedding"])


def draw(memory, file):
    seconds, megabytes = np.array(memory).T
    figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
    axes.plot(seconds / 60, megabytes)
    axes.set(
        xlabel="minutes", ylabel="memory of the server, MB", ylim=(0, None)
    )
    figure.savefig(file, dpi=100)


if __name__ == "__main__":
    main()

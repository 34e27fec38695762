r"""Puts load on keras-bert serve with each engine, and on peers' servers.

    python benchmarks/server_load.py --model=all-MiniLM-L6-v2 \
        --short=SST-2/dev.tsv --long=cranfield/corpus.jsonl \
        --peer="infinity=infinity_emb v2 --model-id all-MiniLM-L6-v2 \
            --served-model-name model --url-prefix /v1 --port {port}"

Our server runs LiteRT, ONNX Runtime and OpenVINO exports as if TensorFlow were
not installed. A peer must answer OpenAI's POST /v1/embeddings. Each client
sends a text, waits for the answer and sends the next text, over one connection.
One in four of the mixed texts is long; it is cut to 300, 600 or 1,200
characters.

Prints a row for each number of clients: the texts per second, the milliseconds
until the answer, how often each status came, and the server's memory. With
--hostile, there are 20 clients with short texts. They run alone, then beside 4
clients that send 100 long texts per request and leave after 0.4 s, and then
beside 4 clients that send 1,000 long texts per request.
"""

import argparse
import asyncio
import collections
import contextlib
import itertools
import json
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from one_text import export_all

_ENGINES = ["litert", "onnx", "openvino"]
# How many texts a hostile client sends, and after how many seconds it leaves.
_HOSTILE = {"leave after 0.4 s": (100, 0.4), "1,000 texts": (1000, 600)}
_SERVE = """
import sys
sys.modules["tensorflow"] = None
from keras_bert.commands.main import main
main()
"""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a checkpoint")
    parser.add_argument("--short", required=True, help="TSV with a header")
    parser.add_argument(
        "--long", required=True, help='JSON lines with the key "text"'
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 128])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--engines", nargs="+", default=_ENGINES)
    args = parser.parse_args()
    texts = read_texts(args.short, args.long)
    with tempfile.TemporaryDirectory() as folder:
        servers = serve_exports(args.model, folder, args.engines)
        for peer in args.peer:
            name, command = peer.split("=", 1)
            servers[name] = shlex.split(command)
        print(
            "| server | texts | clients | texts/s | p50 | p99 | status | MB |"
            "\n|---|---|---|---|---|---|---|---|"
        )
        for name, command in servers.items():
            if args.hostile:
                measure_hostile(name, command, texts, args.seconds)
            else:
                measure(name, command, texts, args.clients, args.seconds)


def read_lines(tsv_file):
    """Returns the first column of a file with a header."""
    lines = Path(tsv_file).read_text(encoding="utf-8").splitlines()[1:]
    return [line.split("\t")[0] for line in lines]


def read_texts(short_file, long_file):
    short = read_lines(short_file)
    with open(long_file, encoding="utf-8") as file:
        long = [json.loads(line)["text"] for line in file]
    long = [text for text in long if len(text) >= 300]
    lengths = itertools.cycle([300, 600, 1200])
    cut = (text[:n] for text, n in zip(itertools.cycle(long), lengths))
    mixed = [text if i % 4 else next(cut) for i, text in enumerate(short)]
    return {"short": short, "mixed": mixed}


def serve_exports(model, folder, engines):
    """Exports a checkpoint for each engine; returns commands to serve it."""
    found = export_all(model, folder, engines)
    return {
        f"keras_bert {engine}": [
            *(sys.executable, "-c", _SERVE, "serve"),
            f"--model_dir={Path(path).parent}",
            *("--model_name=model", "--host=127.0.0.1", "--port={port}"),
        ]
        for engine, path in found.items()
    }


@contextlib.contextmanager
def serving(name, command):
    """Yields the process of a server that has answered, and its port."""
    port = free_port()
    start = time.perf_counter()
    server = subprocess.Popen(
        [part.replace("{port}", str(port)) for part in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_an_answer(server, port)
        print(f"{name}: {time.perf_counter() - start:.1f} s to an answer")
        yield server, port
    finally:
        server.terminate()
        server.wait()


def measure(name, command, texts, clients, seconds):
    with serving(name, command) as (server, port):
        asyncio.run(load(port, texts["short"], 8, seconds / 2))  # warms up
        for (which, lines), count in itertools.product(texts.items(), clients):
            found = asyncio.run(load(port, lines, count, seconds))
            print_row(name, which, count, seconds, found, server)


def measure_hostile(name, command, texts, seconds):
    long = [text for text in texts["mixed"] if len(text) >= 1200]
    with serving(name, command) as (server, port):
        asyncio.run(load(port, texts["short"], 20, seconds / 2))  # warms up
        for which, hostile in {"alone": None, **_HOSTILE}.items():
            found = asyncio.run(
                load(port, texts["short"], 20, seconds, long, hostile)
            )
            print_row(name, which, 20, seconds, found, server)


def print_row(name, which, count, seconds, found, server):
    times, statuses = found
    p50, p99 = 1000 * np.percentile(times or [np.nan], [50, 99])
    print(
        f"| {name} | {which} | {count} | {len(times) / seconds:.0f} "
        f"| {p50:.0f} | {p99:.0f} | {dict(statuses)} "
        f"| {memory_mb(server):.0f} |",
        flush=True,
    )


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for_an_answer(server, port):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/embeddings",
        b'{"input": "a film", "model": "model"}',
        {"Content-Type": "application/json"},
    )
    while server.poll() is None:
        try:
            urllib.request.urlopen(request).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"The server ended: {shlex.join(server.args)}")


def request_of(texts):
    body = json.dumps({"model": "model", "input": texts}).encode()
    return (
        b"POST /v1/embeddings HTTP/1.1\r\nHost: server\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )


async def ask(reader, writer, request):
    """Sends a request; returns the status of the answer."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    fields = head.lower().split(b"content-length: ")
    await reader.readexactly(int(fields[1].split(b"\r\n")[0]))
    return int(head.split()[1])


async def load(port, texts, count, seconds, long=(), hostile=None):
    times, statuses = [], collections.Counter()
    end = time.perf_counter() + seconds
    next_text = itertools.cycle(texts)

    async def client():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (start := time.perf_counter()) < end:
            status = await ask(reader, writer, request_of(next(next_text)))
            times.append(time.perf_counter() - start)
            statuses[status] += 1
        writer.close()

    async def hostile_client(number, seconds):
        request = request_of((long * number)[:number])
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await ask(reader, writer, request)
            writer.close()

    others = [
        asyncio.create_task(hostile_client(*hostile))
        for _ in range(4 if hostile else 0)
    ]
    if others:
        await asyncio.sleep(2)
        end += 2
    results = await asyncio.gather(
        *(client() for _ in range(count)), return_exceptions=True
    )
    for other in others:
        other.cancel()
    statuses.update(type(x).__name__ for x in results if x is not None)
    return times, statuses


def memory_mb(server):
    """Returns the memory of a process and its children, in MB."""
    pid = str(server.pid)
    listing = subprocess.run(
        ["ps", "-o", "rss=", "--pid", pid, "--ppid", pid],
        capture_output=True,
        text=True,
    )
    return sum(map(int, listing.stdout.split())) / 1e3


if __name__ == "__main__":
    main()

r"""Puts load on run_scripts/serve.py: 8, 64 and 512 clients, for some seconds.

    python benchmarks/server_load.py --model_dir=served \
        --texts=SST-2/dev.tsv --seconds=60 --server_flags=--max_batch_size=1

Each client sends a text, waits for the answer and sends the next one, over one
connection. Prints a row for each number of clients: requests a second, the
time until the answer, how often each status came, and the server's memory.
"""

import argparse
import asyncio
import collections
import itertools
import json
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

SERVER = Path(__file__).parent.parent / "run_scripts" / "serve.py"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model_dir", required=True)
    parser.add_argument("--texts", required=True, help="a text a line, or TSV")
    parser.add_argument("--clients", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--server_flags", default="", help="separated by ' '")
    args = parser.parse_args()
    lines = Path(args.texts).read_text(encoding="utf-8").splitlines()[1:]
    texts = [line.split("\t")[0] for line in lines]
    server = subprocess.Popen(
        [
            *(sys.executable, str(SERVER), f"--model_dir={args.model_dir}"),
            *("--model_name=model", "--host=127.0.0.1", "--port=0"),
            *args.server_flags.split(),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = json.loads(server.stdout.readline())["port"]
        while '"loaded"' not in server.stdout.readline():
            pass
        # The log of the server must not fill the pipe.
        threading.Thread(
            target=collections.deque, args=(server.stdout, 0), daemon=True
        ).start()
        print(
            "| clients | requests/s | p50 ms | p95 ms | p99 ms | status "
            "| server MB before, after |\n|---|---|---|---|---|---|---|"
        )
        asyncio.run(_load(port, texts, min(8, len(texts)), 5))  # warms up
        for count in args.clients:
            before = _memory_mb(port)
            start = time.perf_counter()
            times, statuses = asyncio.run(
                _load(port, texts, count, args.seconds)
            )
            rate = len(times) / (time.perf_counter() - start)
            p50, p95, p99 = 1000 * np.percentile(times, [50, 95, 99])
            print(
                f"| {count} | {rate:.0f} | {p50:.0f} | {p95:.0f} | {p99:.0f} "
                f"| {dict(statuses)} | {before:.0f}, {_memory_mb(port):.0f} |",
                flush=True,
            )
    finally:
        server.terminate()
        server.wait()


async def _load(port, texts, count, seconds):
    times, statuses = [], collections.Counter()
    end = time.perf_counter() + seconds
    next_text = itertools.cycle(texts)

    async def client():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (start := time.perf_counter()) < end:
            body = json.dumps({"instances": [next(next_text)]}).encode()
            writer.write(
                b"POST /v1/models/model:predict HTTP/1.1\r\nHost: server\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            head = await reader.readuntil(b"\r\n\r\n")
            fields = head.lower().split(b"content-length: ")
            await reader.readexactly(int(fields[1].split(b"\r\n")[0]))
            times.append(time.perf_counter() - start)
            statuses[int(head.split()[1])] += 1
        writer.close()

    results = await asyncio.gather(
        *(client() for _ in range(count)), return_exceptions=True
    )
    statuses.update(type(x).__name__ for x in results if x is not None)
    return times, statuses


def _memory_mb(port):
    url = f"http://127.0.0.1:{port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(url) as response:
        for line in response.read().decode().splitlines():
            if line.startswith("process_resident_memory_bytes "):
                return float(line.split()[1]) / 1e6


if __name__ == "__main__":
    main()

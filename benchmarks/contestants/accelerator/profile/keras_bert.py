"""Where the time of our training step goes, from a JAX trace.

The result is a table as a string. The trace, which https://ui.perfetto.dev
shows, and the program that XLA made are written to `options["output_dir"]`.
"""

import collections
import gzip
import json
import re
import tempfile
from pathlib import Path

import jax
from accelerator.training.keras_bert import PACKAGES as PACKAGES
from accelerator.training.keras_bert import step_builder
from contestant import Prepared

_NUM_ROWS = 40


def prepare(options):
    build = step_builder(options)
    output_dir = Path(options["output_dir"])

    def run(case):
        step = build(**case)
        step.run()
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                step.run()
            (file,) = Path(folder).rglob("*.trace.json.gz")
            trace = file.read_bytes()
        (output_dir / "keras_bert.trace.json.gz").write_bytes(trace)
        program = step.program()
        (output_dir / "keras_bert.hlo.txt.gz").write_bytes(
            gzip.compress(program.encode())
        )
        times = _times(json.loads(gzip.decompress(trace)))
        origins = _origins(program)
        by_origin = collections.Counter()
        for operation, (milliseconds, _) in times.items():
            by_origin[origins.get(operation, "?")] += milliseconds
        return "\n".join(
            [
                "By part of the network, ms of one step:",
                *_rows(by_origin, step.num_steps),
                "",
                "By operation of the program, ms of one step, with its part:",
                *_rows(
                    {
                        f"{operation} x {count // step.num_steps}"
                        f" ({origins.get(operation, '?')})": milliseconds
                        for operation, (milliseconds, count) in times.items()
                    },
                    step.num_steps,
                ),
            ]
        )

    return Prepared(run, check=lambda table: [table])


def _times(trace):
    """Returns the milliseconds and the number of runs of each XLA operation."""
    events = trace["traceEvents"]
    # On a GPU, further lines repeat what its streams did.
    streams = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name"
        and "Stream" in event["args"]["name"]
    }
    times = {}
    for event in events:
        if streams and (event.get("pid"), event.get("tid")) not in streams:
            continue
        operation = event.get("args", {}).get("hlo_op")
        if operation and event.get("ph") == "X":
            milliseconds, count = times.get(operation, (0.0, 0))
            times[operation] = milliseconds + event["dur"] / 1e3, count + 1
    return times


def _origins(program):
    """Returns the Keras layer and operation behind each XLA operation.

    An example is "backward layer_*/attention/query/dot_general". A fused
    operation without a name gets the name of the last operation inside it.
    """
    origins, last_inside, fused, computation = {}, {}, {}, None
    for line in program.splitlines():
        if line.endswith("{"):
            computation = line.split()[0].removeprefix("%")
        operation = re.match(r"\s+(?:ROOT )?%?(\S+) = ", line)
        if not operation:
            continue
        if name := re.search(r'op_name="([^"]*)"', line):
            origins[operation[1]] = _origin(name[1])
            last_inside[computation] = _origin(name[1])
        if called := re.search(r"calls=%?([\w.-]+)", line):
            fused[operation[1]] = called[1]
    for operation, computation in fused.items():
        if computation in last_inside:
            origins.setdefault(operation, last_inside[computation])
    return origins


def _origin(name):
    direction = "backward " if "transpose(" in name else ""
    name = re.sub(r"jit\(\w+\)/|\w*\(|\)", "", name).strip("/")
    return direction + re.sub(r"layer_\d+", "layer_*", name)


def _rows(times, num_steps):
    total = sum(times.values())
    for name, milliseconds in sorted(times.items(), key=lambda x: -x[1])[
        :_NUM_ROWS
    ]:
        share = milliseconds / total
        yield f"{milliseconds / num_steps:9.3f} {share:6.1%}  {name}"

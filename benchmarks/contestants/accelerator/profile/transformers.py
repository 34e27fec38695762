"""Where the time of the peer's training step goes, from torch's profiler.

The result is the profiler's table of kernels as a string. The trace, which
https://ui.perfetto.dev shows, is written to `options["output_dir"]`.
"""

from pathlib import Path

from accelerator.torch_device import DEVICE
from accelerator.training.transformers import PACKAGES as PACKAGES
from accelerator.training.transformers import step_builder
from contestant import Prepared
from torch.profiler import ProfilerActivity, profile

_NUM_ROWS = 40


def prepare(options):
    build = step_builder(options)
    output_dir = Path(options["output_dir"])
    activities = [ProfilerActivity.CPU]
    if DEVICE == "cuda":
        activities.append(ProfilerActivity.CUDA)

    def run(case):
        step = build(**case)
        step.run()
        step.run()
        with profile(activities=activities) as profiler:
            step.run()
        profiler.export_chrome_trace(
            str(output_dir / "transformers.trace.json.gz")
        )
        return profiler.key_averages().table(
            sort_by=f"self_{DEVICE}_time_total",
            row_limit=_NUM_ROWS,
            max_name_column_width=80,
        )

    return Prepared(run, check=lambda table: [table])

r"""Records where the time of a pre-training step goes on the accelerator.

    python benchmarks/accelerator_profile.py --output_dir=profile

The script profiles our network on JAX, and transformers on torch. For each of
them, it writes a trace, and a table of the operations that take the most time;
see `contestants/accelerator/profile`.
"""

import sys
from pathlib import Path

from absl import app, flags
from comparison.environments import CACHE, ROOT, Environments
from comparison.machine import num_threads
from comparison.measure import environment_variables
from comparison.turns import ContestantError, Process
from works.accelerator import pretraining_case

_OUTPUT_DIR = flags.DEFINE_string("output_dir", None, "A folder for the files.")
_MODEL = flags.DEFINE_enum(
    "model",
    "bert_base_uncased",
    sorted(file.stem for file in (ROOT / "configs" / "models").glob("*.json")),
    "The network.",
)
_SEQ_LENGTH = flags.DEFINE_integer("seq_length", 128, "Tokens per sequence.")
_BATCH_SIZE = flags.DEFINE_integer("batch_size", 256, "Sequences per batch.")
_VARIANTS = flags.DEFINE_list(
    "variants", [], "Variants from `contestants/accelerator/variants.py`."
)
_BACKEND = flags.DEFINE_string(
    "backend", "inductor", "The backend of torch.compile."
)
_ENVIRONMENTS = flags.DEFINE_list(
    "environments", ["jax", "torch"], "The environments to profile."
)
_PYTHONS = flags.DEFINE_list(
    "pythons",
    [],
    "Existing interpreters by environment, such as torch=/env/bin/python.",
)
_FILES = {
    "jax": "accelerator/profile/keras_bert.py",
    "torch": "accelerator/profile/transformers.py",
}
flags.mark_flag_as_required("output_dir")
flags.register_validator(
    "environments",
    lambda names: set(names) <= set(_FILES),
    f"Choose from {', '.join(_FILES)}.",
)


def main(_):
    try:
        _profile()
    except ContestantError as error:
        sys.exit(str(error))


def _profile():
    output_dir = Path(_OUTPUT_DIR.value).absolute()
    output_dir.mkdir(parents=True, exist_ok=True)
    environments = Environments(
        dict(pair.split("=", 1) for pair in _PYTHONS.value)
    )
    case = pretraining_case(_MODEL.value, _SEQ_LENGTH.value, _BATCH_SIZE.value)
    case |= {"num_steps": 3}
    for environment in _ENVIRONMENTS.value:
        file = _FILES[environment]
        variables = environment_variables(environment, on_accelerator=True)
        # This process uses the accelerator alone.
        variables["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.92"
        # In a CUDA graph, kernels lose the names of their operations.
        variables["XLA_FLAGS"] = "--xla_gpu_enable_command_buffer="
        process = Process(
            environment,
            environments.python(environment),
            file,
            {
                "output_dir": str(output_dir),
                "variants": _VARIANTS.value,
                "passes_mask": True,
                "backend": _BACKEND.value,
                "num_threads": num_threads(),
            },
            environment=variables,
            log_file=CACHE / "logs" / f"profile-{environment}.txt",
        )
        (table,) = process.run(case, wants_check=True)["check"]
        process.close()
        name = f"{Path(file).stem}.txt"
        (output_dir / name).write_text(table + "\n", encoding="utf-8")
        print(f"{name}\n{table}\n", flush=True)


if __name__ == "__main__":
    app.run(main)

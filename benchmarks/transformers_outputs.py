"""Runs transformers on a folder; transformers_loads_ours.py runs this script.

    python transformers_outputs.py FOLDER

Reads the model, inputs.npz and texts.json from FOLDER. Writes outputs.npz,
ids.json, zip.bin and legacy.bin.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers

folder = Path(sys.argv[1])
architecture = json.loads((folder / "config.json").read_text())["architectures"]
model, report = getattr(transformers, architecture[0]).from_pretrained(
    folder, output_loading_info=True
)
assert not any(report.values()), report
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
with torch.no_grad():
    outputs = model.eval()(
        **{
            k: torch.tensor(v)
            for k, v in np.load(folder / "inputs.npz").items()
        }
    )
np.savez(
    folder / "outputs.npz",
    **{name: value.numpy() for name, value in outputs.items()},
)
(folder / "ids.json").write_text(json.dumps(tokenizer(texts)["input_ids"]))
# keras_bert must load both of torch's formats.
torch.save(model.state_dict(), folder / "zip.bin")
torch.save(
    model.state_dict(),
    folder / "legacy.bin",
    _use_new_zipfile_serialization=False,
)

"""Writes transformers' BertModel as .onnx files, as a user would.

    python onnx_of_transformers.py CHECKPOINT FOLDER

Writes FOLDER/plain.onnx; FOLDER/float32.onnx, with the operations that ONNX
Runtime's optimizer fuses for BERT; and FOLDER/int8.onnx, which is float32.onnx
in dynamic int8.
"""

import sys
from pathlib import Path

import onnx
import torch
import transformers
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer

_INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
_OUTPUT = "sequence_output"


def main(checkpoint, folder):
    folder = Path(folder)
    folder.mkdir()
    # The optimizer finds the attention only if it is written op by op.
    model = transformers.BertModel.from_pretrained(
        checkpoint, add_pooling_layer=False, attn_implementation="eager"
    ).eval()
    torch.onnx.export(
        _OnlyHidden(model),
        (torch.ones(2, 16, dtype=torch.long),) * len(_INPUTS),
        folder / "plain.onnx",
        input_names=_INPUTS,
        output_names=[_OUTPUT],
        dynamic_axes={
            name: {0: "batch", 1: "sequence"} for name in [*_INPUTS, _OUTPUT]
        },
        opset_version=17,
        dynamo=False,
    )
    fused = optimizer.optimize_model(
        str(folder / "plain.onnx"),
        "bert",
        num_heads=model.config.num_attention_heads,
        hidden_size=model.config.hidden_size,
        opt_level=0,
    )
    fused.save_model_to_file(str(folder / "float32.onnx"))
    quantize_dynamic(
        folder / "float32.onnx",
        folder / "int8.onnx",
        weight_type=QuantType.QInt8,
        # quantize_dynamic cannot infer the types of the fused operations.
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


class _OnlyHidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
        ).last_hidden_state


if __name__ == "__main__":
    main(*sys.argv[1:])

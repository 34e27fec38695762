"""The settings of exports."""

import dataclasses

from keras_bert.errors import InputError
from keras_bert.predict.versions import MODEL_FILES
from keras_bert.settings import CheckedSettings, setting

_PRECISIONS = ("float32", "bfloat16", "int8")
# The precisions of each format.
PRECISIONS = {
    "saved_model": ("float32", "bfloat16"),
    "litert": ("float32", "int8"),
    "onnx": ("float32", "int8"),
    "openvino": _PRECISIONS,
}


@dataclasses.dataclass(frozen=True)
class PretrainedExportConfig(CheckedSettings):
    """The settings of `export_pretrained`.

    Attributes:
        pooling: What the vector of a text in `serving_default` is: "mean" (the
            mean of all tokens), "cls" (the vector of [CLS]) or "pooled" (the
            output of the pooler).
        normalize: Whether to scale all vectors to the norm 1.
        max_seq_length: The maximum sequence length, in tokens including [CLS]
            and [SEP]; longer texts are truncated. By default, the checkpoint's
            maximum, but at most 128.

    Example:
        >>> keras_bert.export.PretrainedExportConfig(pooling="cls").normalize
        False
    """

    pooling: str = setting("mean", choices=("mean", "cls", "pooled"))
    normalize: bool = False
    max_seq_length: int | None = setting(None, minimum=4)


@dataclasses.dataclass(frozen=True)
class ExportConfig(CheckedSettings):
    """The settings of `FinetunedModel.export`.

    Attributes:
        format: The format of the model. A "saved_model" takes strings;
            "litert", "onnx" and "openvino" contain only the network, which
            takes ids. "auto" chooses the format that answers fastest on this
            machine.
        precision: The type of the numbers in the exported network. Every format
            supports float32. The formats litert, onnx and openvino support
            int8, for which openvino needs texts of the task. The format
            saved_model supports bfloat16, and so does openvino on a machine
            with bfloat16 instructions.
        portable: Whether the tokenizer in a saved_model uses only operations of
            plain TensorFlow. The model then loads without tensorflow-text, but
            is slower.

    Example:
        >>> keras_bert.ExportConfig(format="litert", precision="int8").format
        'litert'
    """

    format: str = setting("saved_model", choices=(*MODEL_FILES, "auto"))
    precision: str = setting("float32", choices=_PRECISIONS)
    portable: bool = False

    @property
    def may_calibrate(self) -> bool:
        """Whether the export may need texts of the task."""
        return self.precision == "int8" and self.format in ("openvino", "auto")

    def __post_init__(self) -> None:
        super().__post_init__()
        known = PRECISIONS.get(self.format, _PRECISIONS)
        if self.precision not in known:
            raise InputError(
                f"The format {self.format} has no precision {self.precision}; "
                f"choose {' or '.join(known)}."
            )
        if self.portable and self.format != "saved_model":
            raise InputError(
                "The setting portable is only for the format saved_model, but "
                f"the format is {self.format}; leave out portable."
            )

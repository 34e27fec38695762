"""Networks in the formats of other runtimes: LiteRT and ONNX."""

"""The HTTP server of exported models: TensorFlow Serving's REST contract."""

"""Text -> records -> a pre-trained model."""

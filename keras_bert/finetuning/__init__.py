"""A task and a pre-trained model -> a fine-tuned model and its metrics."""

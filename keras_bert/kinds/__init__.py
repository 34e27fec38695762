"""What is asked of a text: one file or folder for each kind of task."""

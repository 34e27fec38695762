"""Files and folders, on this machine or on a store: read, written, copied."""

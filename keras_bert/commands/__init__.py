"""The command `keras-bert`, with a module for each subcommand."""

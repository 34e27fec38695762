"""The command `keras-bert`: one subcommand per file, flags in, one call out."""

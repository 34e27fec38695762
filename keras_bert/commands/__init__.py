"""The command `keras-bert`: one subcommand a file, flags in, one call out."""

"""The parts of the package read from a store and write to it."""

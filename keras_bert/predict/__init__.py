"""An exported folder -> answers."""

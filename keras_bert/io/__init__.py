"""Files on this machine and on a store, written whole, copied or resumed."""

"""Files here and on a store: whole or absent, copied, resumed."""

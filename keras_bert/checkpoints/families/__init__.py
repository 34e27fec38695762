"""Each family's module names in transformers -> BERT's names.

There is one file for each family. Its `NAMES` apply to all models of the
family. Its `HEADS` apply to models with a head; a key of `HEADS` is what
follows "For" in the name of the model's class. A module that is in neither
table has BERT's name. A tuple of BERT names means that the module's matrix
holds the matrices of several BERT modules, one below the other. In a model with
a head, names in the encoder begin with `PREFIX`, or with `FORMER_PREFIX` in the
family's first release.
"""

"""The names of each family's modules in transformers -> BERT's names.

`NAMES` applies to all models of the family, and `HEADS` to models with a head,
by the end of the name of their class. A module that is in neither has BERT's
name. A tuple means that one matrix holds the matrices of several modules, one
below the other. In a model with a head, names in the encoder begin with
`PREFIX`, or with `FORMER_PREFIX` in the first release.
"""

"""What transformers calls the modules of each family: theirs -> BERT's.

`NAMES` holds for all models of the family, and `HEADS` for those with a head,
by the end of the name of their class. Modules that are not there have BERT's
name. A tuple tells that one matrix holds those of several modules, one below
the other. `PREFIX` comes before the encoder in a model with a head;
`FORMER_PREFIX` does so in the first release.
"""

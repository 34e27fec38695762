"""What transformers calls the modules of each family: theirs -> BERT's.

`NAMES` applies to all models of the family, and `HEADS` to those with a head,
by the end of the name of their class. Modules that are in neither have BERT's
name. A tuple means that one matrix holds those of several modules, one below
the other. `PREFIX` comes before the encoder in a model with a head;
`FORMER_PREFIX` does so in the first release.
"""

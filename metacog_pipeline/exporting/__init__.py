"""Export: the results of a study in the formats of other programs, and as one archive that rebuilds its boards."""

FORMATS = ("bundle", "csv", "eee", "hf", "inspect")

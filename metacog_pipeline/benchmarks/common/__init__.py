"""What every benchmark does the same way: keep files, ask, parse, score, pool; the differences are functions it names.

=========  ================================================================================
draw       a choice among items that every implementation agrees on
sources    published files brought home, verified
files      frames on disk with a mark of what they were made from; item_files keeps items
items      a study's items: built from what it names now, read once
wording    words to ask in, from files
auditing   published numbers held against their own parts
rows       findings as rows of a table of comparisons
benchmark  ``Benchmark``: what one benchmark tells the rest of the pipeline about itself
asking     items → kept answers of one partition
importing  answers collected elsewhere → kept answers; answer_files reads them
thinking   replies without what was thought aloud before them
observing  kept answers → the calls that count, and what those say that brought no whole answer
judging    observations → judgements by other models
scoring    kept answers → observations → estimates of one run → pooled estimates, comparisons
=========  ================================================================================
"""

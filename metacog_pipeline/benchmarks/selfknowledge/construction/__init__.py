"""From published question sets, or the shipped facts, to the items of a study.

==============  ==================================================================================
``loaders``     published files → rows; one function for each layout
``rows``        the row they all become, its checks and its one form on disk
``datasets``    what there is: parts, languages, the sources of each
``build``       rows → the part a study asks → the items drawn from it: pure functions
``invariants``  what must hold for built items, checked against the rows
``steps``       the steps of construction, with their checks
``pipeline``      from a home's sources, a folder or the shipped facts to items
==============  ==================================================================================
"""

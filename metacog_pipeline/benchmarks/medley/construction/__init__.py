"""From a source, or from seeds, to instances whose analysts disagree.

``steps``: the stages that generate instances, ``published``: the same where they are given, and their layout; ``authors``:
what designers, analysts and verifiers are asked, ``simulated_authors``; ``consensus``: ratings, disagreement, three rules,
verification; ``selection``: the panel of eight; ``gates``: whether a set may be released.
"""

"""Makes the items: authored texts as data, generated ones from seeds, every computable truth computed twice.

``shipped_items`` reads the texts under ``data/metacogbench/items``; ``stories`` (tier 3), ``exact`` (1b), ``betting``
(1a) and ``estimates`` (2a) hold generators, solvers and independent checks; ``invariants`` says what must hold of a
set; ``pipeline.construct`` puts a set on disk and ``generate`` makes fresh variants.
"""

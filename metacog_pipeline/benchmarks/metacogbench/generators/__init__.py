"""What wrote the generated items, and writes fresh ones: no study and no reader of the benchmark comes by here.

``exact`` (1b), ``betting`` (1a) and ``stories`` (3) generate, each answer found twice, in the words of ``wording``;
``making`` says which generators and seeds ship.
"""

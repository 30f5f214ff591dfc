"""The contract between a benchmark and the pipeline, and what holds everybody's benchmark to it.

``contract`` is all that an author of a benchmark reads: :class:`Benchmark` and what it declares. ``groups`` holds the
responses a measure is computed from, ``schema`` derives tables from row classes, ``wording`` and ``thinking`` help to
word prompts and to read replies. Nothing here knows a single benchmark, asks anybody or writes a file. Start with
``contract``.
"""

"""Building the MetaMedQA question set from its parent, an edit table and questions about an organ that is not there.

Griot, Hemptinne, Vanderdonckt, Yuksel: "Large Language Models lack essential metacognition for reliable medical
reasoning", Nature Communications 16:642 (2025), doi:10.1038/s41467-024-55628-6. Rebuilds the 1,373 published
questions (Methods, "Benchmark creation and preprocessing").

::

    parent rows ─┐
    edit table ──┼─> build ──> items ──> items/metamedqa.parquet + manifest
    fictional  ──┘

=================  ===================================================================================
``records``        the rows and edit records, parsed from JSON with one-line errors
``text``           folding, word overlap and character similarity of texts
``edits``          applying an edit record to its parent row; the key rule
``derive``         the inverse: the edit table from a parent and a modified set, and the modified set's order
``edit_table``     a data set's edits with their order, counts and anomalies
``counts``         the counts of a derived table, and the published counts beside them
``build``          parent + edits + fictional -> items, quirks, manifest
``anomalies``      what is wrong in the published data, what ``corrected`` changes, the tags that tell
``invariants``     the rules P1-P4 and E1-E8; ``output_rules``: O1-O7
``screen``         nominating malformed stems
``authoring``      drawing items to edit, worksheets, checking, accepting, rejecting
``pipeline``       from the files of a data set to its items, every rule checked
``steps``          the same as steps of a study; ``reports``: for a person at a terminal, printable
=================  ===================================================================================

Everything but ``pipeline``, ``steps`` and ``reports`` is a pure function of plain records.
"""

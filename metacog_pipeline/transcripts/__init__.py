"""What was asked and answered: the journal, its Parquet copy, and the identity of an answer.

One partition (benchmark, model, run) is one folder::

    journal-000001.jsonl   what one session kept, one record a line; written once, never touched again
    transcripts.parquet    the readable copy of all segments, replaced whole
    partition.json         what the engine says about the partition
    .lock                  held while a process writes here

Start with ``schema``, then ``store``; ``docs/design/asking.md`` says why it is built so.
"""

"""What was asked and answered: the journal, its Parquet copy, and the identity of an answer.

It never asks, never parses a text, and never deletes an answer. Start with ``schema``, then ``store``;
``docs/design/answers.md`` says why it is built so.

One partition (benchmark, model, run) is one folder::

    journal-000001.jsonl   what one session kept, one record a line; written once, never touched again
    journal-000002.jsonl   the next session
    transcripts.parquet    the readable copy of all segments, replaced whole
    partition.json         what the engine says about the partition
    .lock                  held while a process writes here

``schema`` one row, its columns and older versions; ``identity`` which calls are the same call; ``lines`` a record as one
line of JSON; ``logprobs`` and ``raw`` two encoded columns; ``journal`` reading and writing segments; ``parquet`` the copy;
``folder`` where a partition stands and its manifest; ``lock`` one writer on one host; ``lease`` and ``shared`` among
many hosts; ``store`` all of it behind one object; ``lookup`` one call; ``verification`` whether all is as it was written.
"""

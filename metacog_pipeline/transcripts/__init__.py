"""What was asked and answered: the journal, its Parquet copy, and the identity of an answer.

It never asks, never parses a text, and never deletes an answer. Start with ``schema``, then ``store``;
``docs/design/answers.md`` says why it is built so.

One partition (benchmark, model, run) is one folder::

    journal-000001.jsonl   what one session kept, one record a line; written once, never touched again
    journal-000002.jsonl   the next session
    transcripts.parquet    the readable copy of all segments, replaced whole
    partition.json         what the engine says about the partition
    .lock                  held while a process writes here

``schema`` one row and its columns; ``identity`` which calls are the same call; ``lines`` a record as one line;
``logprobs`` token log-probabilities as one column; ``migrations`` older rows made current; ``segments`` reading
journals; ``journal`` writing one; ``parquet`` the copy; ``compaction`` making it; ``folder`` where a partition stands
and its manifest; ``lock`` one writer at a time; ``lease`` among many hosts; ``shared`` a partition in the store its home is
attached to, ``mirror`` what is read from there; ``store`` all of it behind one object.
"""

"""Asking one partition (benchmark, model, run): every item × condition through its protocol, every answer kept.

Holds the session, its workers, the choice of an answer mode, judges as a panel, and the plan of what asking would cost.
It never sends a call itself (``llm``), never writes a file of answers itself (``transcripts``), never scores.
Start with ``types``, then ``session.query_partition``; ``docs/design/asking.md`` says why it is built so.
"""

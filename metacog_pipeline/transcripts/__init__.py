"""What was asked and answered: the journal, its Parquet copy, and the identity of an answer. Start with ``schema``."""

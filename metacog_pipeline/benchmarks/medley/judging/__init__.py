"""Blind judges of how an answer was revised: one text for all conditions, a quoted answer, no judge of its own family."""

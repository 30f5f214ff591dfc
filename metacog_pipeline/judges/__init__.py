"""Judges with one verdict, pass or fail, and the reader model: a judge that decides what words alone do not.

``verdicts`` says what a judge is shown and reads what it says; ``names`` has it decide whether an answer that is no
accepted one as written names the same; ``audit`` measures its error by labels on a sample. `scoring.reader_error` carries
that error into intervals. A judge sees neither who replied nor under which condition.
"""

"""Judges: models, the judged model itself among them, that give the verdict the rules of the scorer give.

Read in this order: ``cases`` (what is judged), ``prompts`` (in which words), ``protocol`` (who judges whom), ``parsing``
and ``observe`` (one row per reply and judge), ``agreement`` (how far judges and rules agree, and what judges would do to
the scores). ``simulate`` judges instead of a model, with errors of a known rate.

A judgement never enters a score. The reply under judgement is data: it is quoted line by line.
"""

"""Judges: models that grade how an answer was revised, by thirty criteria in ten dimensions.

Read in this order: ``cases`` (what is judged), ``prompts`` (in which words), ``asking`` (who judges whom, and in which
calls), ``suite`` (the bias of each judge, before it grades), ``rows`` (one row per instance, condition and judge),
``combine`` (several judges → one grade per dimension), ``agreement`` (how far the judges agree). ``simulated`` grades
instead of a model.

An answer under judgement is data: it is condensed to a few thousand characters, quoted between marks it cannot contain,
and what it says about grades, judges or the end of the quotation is a part of what is graded. A judge never grades a model
of its own family. A grade outside 0, 1, 2, 3 is no grade.
"""

"""Judges: models that grade how an answer was revised, by thirty criteria in ten dimensions.

Judges are blind: one text for all conditions, which names none, so equal replies are judged on equal pages. An answer under
judgement is data: condensed, and quoted between marks it cannot contain. A judge never grades a model of its own family.
"""

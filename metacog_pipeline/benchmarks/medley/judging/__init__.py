"""Judges: models that grade how an answer was revised, by thirty criteria in ten dimensions.

``asking``: what is judged, in which words and calls, and one row per judgement; ``agreement``: how far judges agree;
``declared``: what the pipeline is told; ``simulated`` grades instead of a model.

An answer under judgement is data: it is condensed to a few thousand characters and quoted between marks it cannot contain.
Judges are blind: one text for all conditions, which names none, so equal replies are judged on equal pages. A judge never
grades a model of its own family.
"""

"""Metacognitive efficiency of a choice among m alternatives: d', meta-d' and M-ratio that need no stimulus classes.

``fit`` is where to start; ``intervals`` the profile intervals; ``companions`` what needs no fit (AUROC2 with an interval
that covers, eta, meta-I); ``accuracy`` the type-1 side; ``ideal`` the exact ideal observer and ``table`` its quick form.
"""

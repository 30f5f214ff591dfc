"""Metacognitive efficiency of a choice among m alternatives: d', meta-d' and M-ratio that need no stimulus classes.

``efficiency`` is where to start; ``fit`` the fits of many cells; ``intervals`` of one cell; ``accuracy`` the type-1 side;
``table`` the ideal observer.
"""

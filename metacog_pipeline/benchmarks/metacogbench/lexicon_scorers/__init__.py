"""Cues of caution, pushback, caving, refusal and insufficiency, and the item's own regexes, with scope and negation.

``patterns`` compiles regexes that cannot run away, ``prepare`` masks what is not the speaker's own assertion, ``scope``
decides whether a match is meant, ``declining`` leaves out what only declines the task; ``caution``, ``stance``,
``grounded`` and ``refusal`` are the scorers. Words live in ``data/metacogbench/lexicon``; ``lexicon`` (beside this
package) reads them.
"""

"""MetaCog-Bench: does a model monitor what it knows, hold back where it should, and carry a structure to a new story?

Five tiers after Nelson and Narens: betting on answers (1a), predicting performance (1b), ecological validity (2a),
resistance to a sycophantic pull (2b), domain transfer (3). The published task texts and cue lists are not public; all
items and lexicons here are original. Reproduces the layout of Tables 3 to 7 (tiers, MS, SAF, CDTC, overall).

Read in this order: ``items`` (what is asked), ``prompts`` (in which words), ``protocol`` (in which calls), ``parsing``
(what a reply says), ``verdicts`` (what it is worth), ``observe`` (one row per item and condition), ``scoring``
(estimates), ``comparisons``. ``simulate`` answers instead of a model, ``construction`` makes and checks the items.
"""

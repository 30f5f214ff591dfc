"""The report of a study: HTML pages made from its leaderboard, readable from disk without a network.

Holds the pages, their templates, the pieces and figures that every part is made of, and the parts that are shared by all
benchmarks. What is shown of one benchmark alone is in its own folder (``report.py``). It never computes a number and never
runs anything a model wrote. Start with ``page.build_report``.
"""

PAGE = "index.html"  # of a report, in its folder

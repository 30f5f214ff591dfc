"""The explorer: items × models, and for each item what every model was asked, answered and was read as.

``data`` makes the contents of its files from the leaderboard, ``pages`` writes them beside the report, ``server`` makes
them when they are asked for. The page is the same in both cases: it loads scripts that each call one function with JSON.
What models wrote is data without a single ``<``, and is only ever set as text. Start with `data`.
"""

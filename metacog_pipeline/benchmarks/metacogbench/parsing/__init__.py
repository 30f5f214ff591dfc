"""What a reply says, by tier: bets, confidences, answers, JSON fields. Total: any string gives a result.

``text`` prepares the characters and the markup; ``numbers`` reads numbers and stated amounts; ``keyed`` finds labelled
lines whether they stand in prose, Markdown, a table or JSON; ``bet``, ``confidence`` and ``matching`` read tiers 1a and
1b; ``json_objects`` and ``json_fields`` read tier 3.
"""

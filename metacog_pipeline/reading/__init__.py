"""The one reader of replies: `envelope` finds the turn, `records` what it names, `reader` the fields asked for."""

"""Variables that one process of a command sets for the next: how a run asks. Read where they are used, not here."""

WATCH_PARENT = "METACOG_WATCH_PARENT"  # set by a command that waits for this process and alone could stop it
REASK, UNUSABLE = "METACOG_REASK", "unusable"  # set by `metacog run --reask unusable`

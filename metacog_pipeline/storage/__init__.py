"""Where what a study keeps can lie beside the home of one host: a folder many hosts see, or an object store.

``store`` the interface and its errors; ``folders`` and ``objects`` its two implementations; ``mounts`` whether locks of a
file system hold between hosts; ``attached`` which store and ledger a home is attached to, and opening it. It knows
bytes and names only: what a partition keeps there says ``transcripts.shared``, boards say ``leaderboard.shared``.
"""

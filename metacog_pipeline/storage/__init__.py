"""Where what a study keeps can lie beside the home of one host: a folder many hosts see, or an object store.

It knows bytes and names only: what a partition keeps there says ``transcripts.shared``, boards say ``leaderboard.shared``.
"""

"""The computed measures, for many instances at once.

``options`` names every point on which paper, documents and the authors' code differ, with two presets. ``panel`` holds
what is fixed for an instance (analyst means, headcounts, phrases), made once. ``batch`` reads replies into arrays of
instances × claims. ``measures`` are the measures themselves.

Throughout, a, p and s are the confidences of a claim in step A, B-private and B-social, as doubles that are neither
rounded nor clamped before they are compared or ranked, and μ the mean confidence of the analysts who rate its slot.
"""

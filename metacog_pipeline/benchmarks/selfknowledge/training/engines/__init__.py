"""Who evaluates the population: this process, several processes, or Ray actors. The weights come out the same.

Workers are told seeds and commits and tell rewards; no weights travel. Each of them makes every update itself and tells
the digest of its weights, which must be everybody's.
"""

"""Measure what language models know about what they know."""

__version__ = "0.2.0"

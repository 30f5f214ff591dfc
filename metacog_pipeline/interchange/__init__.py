"""Answers that other programs collected, read into a study."""

"""Logs of other programs, and tables that bring their questions, as answers of replayed models."""

"""Logs of other programs, read as samples."""

"""Querying one partition: every item × condition through its protocol, every answer kept."""

"""Asking: models that are measured, and judges of their answers. Start with ``tasks``."""

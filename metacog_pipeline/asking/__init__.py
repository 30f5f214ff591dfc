"""Asking: models that are measured, judges of their answers, models that help to make items. Start with ``tasks``."""

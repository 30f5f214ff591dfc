"""What a benchmark asks, and of whom: models that are measured, judges of their answers, models that help to make items.

``tasks`` turns items and conditions into calls and knows what a partition's answers depend on; ``judging`` asks judges;
``construction`` runs the steps that make items and asks the models that help. The calls themselves are made and kept by
``querying``. Nothing here scores. Start with ``tasks``.
"""

"""Asking: models that are measured, judges of their answers, models that help to make items.

``tasks`` turns items and conditions into calls and knows what a partition's answers depend on; ``judging`` asks judges;
``construction`` runs the steps that make items and asks the models that help. Before money is spent ``plan`` prices what is
left to ask, and ``doctor`` checks that it can be asked. ``session`` opens a partition, ``loop`` asks its tasks, ``step``
makes and keeps one call. Nothing here scores. Start with ``tasks``.
"""

"""Talking to models: one seam, ``ChatModel.complete(request) -> Completion``."""

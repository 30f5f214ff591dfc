"""Property tests here are about values: on a busy machine a slow example is not a failure."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")

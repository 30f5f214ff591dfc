"""Commands, run as a user does."""

from tests.cli.conftest import metacog

__all__ = ["metacog"]

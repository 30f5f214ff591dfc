"""Tables are fitted as users do it: by the command."""

from tests.cli.conftest import file, metacog

__all__ = ["file", "metacog"]  # fixtures

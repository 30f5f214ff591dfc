"""Which port of this machine a server may listen on."""

from __future__ import annotations

import errno
import os
import socket

from metacog_pipeline.errors import StudyError

UI_HOST, UI_PORT = "127.0.0.1", 3000
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")  # reached from this machine only
_TRIED = 100  # ports; a machine with so many in a row in use has another problem


def in_use(host: str, port: int) -> str | None:
    """Return why nothing can listen on ``port`` of ``host``; None where it is free."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
            # As web servers do: a port whose last connections still fade is free.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            listening.listen(1)
    except (OSError, UnicodeError) as error:
        code = getattr(error, "errno", None)
        if isinstance(error, socket.gaierror | UnicodeError) or code == errno.EADDRNOTAVAIL:
            raise StudyError(
                f'--host "{host}": no address of this machine; give 127.0.0.1, 0.0.0.0 for all of them, or a name it has'
            ) from None
        return os.strerror(code).lower() if code else str(error)
    return None


def port_for(host: str, port: int, *, first: int = UI_PORT) -> int:
    """Return ``port`` where it is free; for 0 the next free one from ``first`` on. Raises ``StudyError`` for none."""
    if not port:
        free = (each for each in range(first, first + _TRIED) if in_use(host, each) is None)
        if (found := next(free, None)) is None:
            raise StudyError(f"--port 0: none of {_TRIED} ports of {host} from {first} on is free; give one")
        return found
    if (why := in_use(host, port)) is not None:
        raise StudyError(
            f"--port {port}: cannot be used ({why}); what answers there is another server, perhaps the UI of another "
            "study: give another port, or --port 0 for the next free one"
        )
    return port

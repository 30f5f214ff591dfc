"""Which port of this machine a server may listen on."""

from __future__ import annotations

import os
import socket

from metacog_pipeline.errors import StudyError

UI_HOST, UI_PORT = "127.0.0.1", 3000
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")  # reached from this machine only


def in_use(host: str, port: int) -> str | None:
    """Return why nothing can listen on ``port`` of ``host``; None where it is free."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
            # As web servers do: a port whose last connections still fade is free.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, port))
            listening.listen(1)
    except (socket.gaierror, UnicodeError):
        raise StudyError(
            f'--host "{host}": no address of this machine; give 127.0.0.1 or a name it has'
        ) from None
    except OSError as error:
        return os.strerror(error.errno).lower() if error.errno else str(error)
    return None


def port_for(host: str, port: int, *, first: int = UI_PORT) -> int:
    """Return ``port`` where it is free; for 0 the next free one from ``first`` on. Raises ``StudyError`` for none."""
    if not port:
        return next(each for each in range(first, 65536) if in_use(host, each) is None)
    if (why := in_use(host, port)) is not None:
        raise StudyError(
            f"--port {port}: cannot be used ({why}); what answers there is another server, perhaps the UI of another "
            "study: give another port, or --port 0 for the next free one"
        )
    return port

"""Which port of this machine a server may listen on."""

from __future__ import annotations

import socket

from metacog_pipeline.errors import StudyError

UI_HOST, UI_PORT = "127.0.0.1", 3000
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")  # reached from this machine only


def port_for(host: str, port: int, *, first: int = UI_PORT) -> int:
    """Return ``port`` where it is free; for 0 the next free one from ``first`` on. Raises ``StudyError`` for none."""
    if not port:
        return next(each for each in range(first, 65536) if _free(host, each))
    if not _free(host, port):
        raise StudyError(
            f"--port {port}: cannot be used; what answers there is another server, perhaps the UI of another study: give "
            "another port, or --port 0 for the next free one"
        )
    return port


def _free(host: str, port: int) -> bool:
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
    except OSError:
        return False
    return True
